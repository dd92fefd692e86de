// The OpenVDB side of the level set bench. Reads a mesh and query points, prints one line of numbers:
// build seconds, grid bytes, peak resident kilobytes, seconds for random and for coherent queries, sum of values.
// Built by benches/level_sets/run.sh against Debian's libopenvdb-dev.

#include <openvdb/openvdb.h>
#include <openvdb/math/Stencils.h>
#include <openvdb/tools/MeshToVolume.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename T>
std::vector<T> read(std::ifstream& in, std::uint64_t count) {
    std::vector<T> values(count);
    in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
    return values;
}

long peak_kilobytes() {
    std::ifstream status("/proc/self/status");
    std::string word;
    long value = 0;
    while (status >> word) {
        if (word == "VmHWM:") status >> value;
    }
    return value;
}

// Value and gradient of the trilinear interpolant at every point; seconds of the best of seven runs.
double query(const openvdb::FloatGrid& grid, const std::vector<openvdb::Vec3d>& points, double& sum) {
    std::vector<openvdb::Vec4d> answers(points.size());
    double best = 1e30;
    for (int run = 0; run < 7; ++run) {
        const double start = now();
        tbb::parallel_for(tbb::blocked_range<std::size_t>(0, points.size(), 4096), [&](const auto& range) {
            openvdb::math::BoxStencil<openvdb::FloatGrid> stencil(grid);
            for (std::size_t i = range.begin(); i != range.end(); ++i) {
                const openvdb::Vec3d at = grid.transform().worldToIndex(points[i]);
                stencil.moveTo(openvdb::Vec3R(at));
                const auto gradient = stencil.gradient(at);
                answers[i] = openvdb::Vec4d(stencil.interpolation(at), gradient[0], gradient[1], gradient[2]);
            }
        });
        best = std::min(best, now() - start);
    }
    for (const auto& answer : answers) sum += answer[0];
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: openvdb_peer MESH.bin SPACING RUNS THREADS\n");
        return 2;
    }
    const double spacing = std::atof(argv[2]);
    const int runs = std::atoi(argv[3]);
    tbb::global_control threads(tbb::global_control::max_allowed_parallelism, std::atoi(argv[4]));
    openvdb::initialize();

    std::ifstream in(argv[1], std::ios::binary);
    const auto counts = read<std::uint64_t>(in, 3);
    const auto points = read<openvdb::Vec3s>(in, counts[0]);
    const auto triangles = read<openvdb::Vec3I>(in, counts[1]);
    const auto random = read<openvdb::Vec3d>(in, counts[2]);
    const auto coherent = read<openvdb::Vec3d>(in, counts[2]);

    const auto transform = openvdb::math::Transform::createLinearTransform(spacing);
    openvdb::FloatGrid::Ptr grid;
    double build = 1e30;
    for (int run = 0; run < runs; ++run) {
        grid.reset();
        const double start = now();
        grid = openvdb::tools::meshToLevelSet<openvdb::FloatGrid>(*transform, points, triangles, 3.0f);
        build = std::min(build, now() - start);
    }
    const long peak = peak_kilobytes();
    double sum = 0.0;
    const double random_seconds = counts[2] ? query(*grid, random, sum) : 0.0;
    const double coherent_seconds = counts[2] ? query(*grid, coherent, sum) : 0.0;
    std::printf("%.6f %llu %ld %.6f %.6f %.9g\n", build, static_cast<unsigned long long>(grid->memUsage()), peak,
                random_seconds, coherent_seconds, sum);
}
