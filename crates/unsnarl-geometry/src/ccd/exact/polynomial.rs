//! Polynomials in one variable with integer coefficients.

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, Zero};
use std::ops::{Add, Mul, Sub};

/// Coefficients from the constant upwards, without leading zeros: the zero polynomial has none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Polynomial(Vec<BigInt>);

impl Polynomial {
    pub(super) fn new(mut coefficients: Vec<BigInt>) -> Self {
        while coefficients.last().is_some_and(Zero::is_zero) {
            coefficients.pop();
        }
        Self(coefficients)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is a constant; so is zero.
    pub(super) fn is_constant(&self) -> bool {
        self.0.len() < 2
    }

    /// The value at `numerator / 2^power`, times `2^(power * degree)`.
    pub(super) fn scaled_value(&self, numerator: &BigInt, power: usize) -> BigInt {
        let mut value = BigInt::zero();
        for (step, coefficient) in self.0.iter().rev().enumerate() {
            value = value * numerator + (coefficient << (power * step));
        }
        value
    }

    /// The sign at `numerator / 2^power`.
    pub(super) fn sign_at(&self, numerator: &BigInt, power: usize) -> i32 {
        sign(&self.scaled_value(numerator, power))
    }

    /// A bound of the slope on [0, 1].
    pub(super) fn slope_bound(&self) -> BigInt {
        self.0.iter().enumerate().map(|(power, coefficient)| coefficient.abs() * power).sum()
    }

    pub(super) fn degree(&self) -> usize {
        self.0.len().saturating_sub(1)
    }

    pub(super) fn derivative(&self) -> Self {
        Self::new(self.0.iter().enumerate().skip(1).map(|(power, coefficient)| coefficient * power).collect())
    }

    pub(super) fn negated(&self) -> Self {
        Self(self.0.iter().map(|coefficient| -coefficient).collect())
    }

    /// The greatest common divisor, up to a factor.
    pub(super) fn common_divisor(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.primitive(), other.primitive());
        while !b.is_zero() {
            let rest = a.remainder(&b).primitive();
            (a, b) = (b, rest);
        }
        a
    }

    /// A positive multiple of the remainder of dividing by `divisor`.
    pub(super) fn remainder(&self, divisor: &Self) -> Self {
        let leading = divisor.0.last().expect("the divisor is not zero");
        let mut rest = self.clone();
        while rest.0.len() >= divisor.0.len() {
            let factor = rest.0.last().expect("longer than the divisor").clone();
            let shift = rest.0.len() - divisor.0.len();
            // Multiplying by |leading| keeps the sign that Sturm's theorem counts.
            let (scale, factor) = if leading.is_negative() { (-leading, -factor) } else { (leading.clone(), factor) };
            for (power, coefficient) in rest.0.iter_mut().enumerate() {
                *coefficient *= &scale;
                if power >= shift {
                    *coefficient -= &factor * &divisor.0[power - shift];
                }
            }
            rest = Self::new(rest.0);
        }
        rest
    }

    /// The quotient of an exact division, up to a positive factor.
    pub(super) fn divided_by(&self, divisor: &Self) -> Self {
        let leading = divisor.0.last().expect("the divisor is not zero");
        let mut rest = self.clone();
        let mut quotient = vec![BigInt::zero(); (self.0.len() + 1).saturating_sub(divisor.0.len())];
        while rest.0.len() >= divisor.0.len() {
            let factor = rest.0.last().expect("longer than the divisor").clone();
            let shift = rest.0.len() - divisor.0.len();
            let (scale, factor) = if leading.is_negative() { (-leading, -factor) } else { (leading.clone(), factor) };
            for coefficient in &mut quotient {
                *coefficient *= &scale;
            }
            quotient[shift] += &factor;
            for (power, coefficient) in rest.0.iter_mut().enumerate() {
                *coefficient *= &scale;
                if power >= shift {
                    *coefficient -= &factor * &divisor.0[power - shift];
                }
            }
            rest = Self::new(rest.0);
        }
        Self::new(quotient).primitive()
    }

    /// Divided by the largest power of two that divides it: shorter numbers, no change of sign.
    pub(super) fn primitive(&self) -> Self {
        let zeros = self.0.iter().filter_map(BigInt::trailing_zeros).min().unwrap_or(0);
        if zeros == 0 {
            return self.clone();
        }
        Self(self.0.iter().map(|coefficient| coefficient >> zeros).collect())
    }

    /// Whether its Bernstein coefficients on [0, 1] have one sign, so that it has no root there.
    ///
    /// Coefficient `k` is `sum over i <= k of binomial(k, i) / binomial(n, i) c_i`, here times `n!`.
    pub(super) fn is_clearly_nonzero(&self) -> bool {
        let degree = self.degree();
        let factorial = |n: usize| (1..=n as u64).product::<u64>();
        let binomial = |n: usize, k: usize| factorial(n) / (factorial(k) * factorial(n - k));
        let coefficient = |k: usize| -> BigInt {
            let terms = self.0.iter().enumerate().take(k + 1);
            terms.map(|(i, c)| c * (binomial(k, i) * factorial(i) * factorial(degree - i))).sum()
        };
        let first = sign(&coefficient(0));
        first != 0 && (1..=degree).all(|k| sign(&coefficient(k)) == first)
    }
}

pub(super) fn sign(value: &BigInt) -> i32 {
    match value.sign() {
        Sign::Minus => -1,
        Sign::NoSign => 0,
        Sign::Plus => 1,
    }
}

impl Add for &Polynomial {
    type Output = Polynomial;
    fn add(self, other: Self) -> Polynomial {
        let (long, short) = if self.0.len() < other.0.len() { (other, self) } else { (self, other) };
        let mut sum = long.0.clone();
        for (coefficient, addend) in sum.iter_mut().zip(&short.0) {
            *coefficient += addend;
        }
        Polynomial::new(sum)
    }
}

impl Sub for &Polynomial {
    type Output = Polynomial;
    fn sub(self, other: Self) -> Polynomial {
        let negated = other.negated();
        self.add(&negated)
    }
}

impl Mul for &Polynomial {
    type Output = Polynomial;
    fn mul(self, other: Self) -> Polynomial {
        if self.is_zero() || other.is_zero() {
            return Polynomial(Vec::new());
        }
        let mut product = vec![BigInt::zero(); self.0.len() + other.0.len() - 1];
        for (power, coefficient) in self.0.iter().enumerate() {
            for (other_power, other_coefficient) in other.0.iter().enumerate() {
                product[power + other_power] += coefficient * other_coefficient;
            }
        }
        Polynomial::new(product)
    }
}
