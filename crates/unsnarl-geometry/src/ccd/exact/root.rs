//! Real roots in [0, 1] as isolating intervals, and the signs of other polynomials there.

use super::polynomial::{Polynomial, sign};
use num_bigint::BigInt;
use num_traits::{One, Zero};

/// One root of a square-free polynomial, between `low / 2^power` and `high / 2^power`; equal ends are the root itself.
pub(super) struct Root {
    polynomial: Polynomial,
    low: BigInt,
    high: BigInt,
    power: usize,
}

/// Halvings before asking whether the other polynomial shares this root.
const PATIENCE: usize = 64;

impl Root {
    /// The number 0 or 1.
    pub(super) fn at(value: i32) -> Self {
        let polynomial = Polynomial::new(vec![BigInt::from(-value), BigInt::one()]);
        Self { polynomial, low: value.into(), high: value.into(), power: 0 }
    }

    /// All roots in [0, 1], each once. The zero polynomial has none here.
    pub(super) fn all_of(polynomial: &Polynomial) -> Vec<Self> {
        if polynomial.is_constant() || polynomial.is_clearly_nonzero() {
            return Vec::new();
        }
        let repeated = polynomial.common_divisor(&polynomial.derivative());
        let simple = if repeated.is_constant() { polynomial.primitive() } else { polynomial.divided_by(&repeated) };
        let chain = sturm_chain(&simple);
        let mut roots = Vec::new();
        if simple.sign_at(&BigInt::zero(), 0) == 0 {
            roots.push(Self { polynomial: simple.clone(), low: BigInt::zero(), high: BigInt::zero(), power: 0 });
        }
        let mut pending = vec![(BigInt::zero(), BigInt::one(), 0usize)];
        while let Some((low, high, power)) = pending.pop() {
            let above_low = variations(&chain, &low, power);
            let count = above_low - variations(&chain, &high, power);
            let low_is_root = simple.sign_at(&low, power) == 0;
            match count {
                0 => {}
                1 if simple.sign_at(&high, power) == 0 => {
                    roots.push(Self { polynomial: simple.clone(), low: high.clone(), high, power });
                }
                1 if !low_is_root => roots.push(Self { polynomial: simple.clone(), low, high, power }),
                _ => {
                    let middle: BigInt = &low + &high;
                    pending.push((middle.clone(), &high << 1, power + 1));
                    pending.push((&low << 1, middle, power + 1));
                }
            }
        }
        roots
    }

    /// The sign of another polynomial at this root.
    pub(super) fn sign_of(&mut self, other: &Polynomial) -> i32 {
        if other.is_zero() {
            return 0;
        }
        let slope = other.slope_bound();
        for round in 0.. {
            if self.low == self.high {
                return other.sign_at(&self.low, self.power);
            }
            // Within the interval the value changes by less than its width times the slope.
            let value = other.scaled_value(&self.low, self.power);
            let change = ((&self.high - &self.low) * &slope) << (self.power * (other.degree().max(1) - 1));
            if value.magnitude() > change.magnitude() {
                return sign(&value);
            }
            if round == PATIENCE && self.is_shared_with(other) {
                return 0;
            }
            self.halve();
        }
        unreachable!("the interval shrinks until the sign shows or the root is found to be shared")
    }

    fn is_shared_with(&self, other: &Polynomial) -> bool {
        let shared = self.polynomial.common_divisor(other);
        if shared.is_constant() {
            return false;
        }
        // The interval holds one root of the polynomial and neither end is one, so a common root is a change of sign.
        shared.sign_at(&self.low, self.power) * shared.sign_at(&self.high, self.power) < 0
    }

    fn halve(&mut self) {
        let middle: BigInt = &self.low + &self.high;
        self.power += 1;
        let at_middle = self.polynomial.sign_at(&middle, self.power);
        self.low <<= 1;
        self.high <<= 1;
        if at_middle == 0 {
            self.low.clone_from(&middle);
            self.high = middle;
        } else if at_middle == self.polynomial.sign_at(&self.low, self.power) {
            self.low = middle;
        } else {
            self.high = middle;
        }
    }
}

fn sturm_chain(polynomial: &Polynomial) -> Vec<Polynomial> {
    let mut chain = vec![polynomial.clone(), polynomial.derivative()];
    loop {
        let [.., before, last] = chain.as_slice() else { return chain };
        if last.is_constant() {
            return chain;
        }
        let next = before.remainder(last).negated().primitive();
        if next.is_zero() {
            return chain;
        }
        chain.push(next);
    }
}

/// Changes of sign along the chain: their difference between two points counts the roots in (low, high].
fn variations(chain: &[Polynomial], numerator: &BigInt, power: usize) -> usize {
    let signs: Vec<i32> = chain.iter().map(|link| link.sign_at(numerator, power)).filter(|&sign| sign != 0).collect();
    signs.windows(2).filter(|pair| pair[0] != pair[1]).count()
}
