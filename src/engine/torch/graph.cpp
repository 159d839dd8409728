// Records what libtorch sends to a CUDA device as one graph, and sends it again.
//
// This is all that the program needs of libtorch beyond its bindings. It is a library of its own, opened after `libtorch_cuda.so`, from which
// its names come: the program itself does not depend on CUDA. A function that can fail gives 0 or null then, and `paramill_graph_problem`
// says why.

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <stdexcept>
#include <string>

namespace {

thread_local std::string problem;

template <typename Work>
int attempt(Work work) {
    try {
        work();
        return 1;
    } catch (const std::exception& error) {
        problem = error.what();
    } catch (...) {
        problem = "unknown error";
    }
    return 0;
}

void check(cudaError_t status) {
    if (status != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(status));
    }
}

// A graph and the stream that it is recorded on, which is not the default one: that cannot be captured.
struct Recording {
    c10::cuda::CUDAStream before;
    c10::cuda::CUDAStream stream;
    at::cuda::CUDAGraph graph;
    bool is_open = false;

    explicit Recording(c10::DeviceIndex device)
        : before(c10::cuda::getCurrentCUDAStream(device)), stream(c10::cuda::getStreamFromPool(false, device)) {}
};

Recording& of(void* recording) { return *static_cast<Recording*>(recording); }

}  // namespace

extern "C" {

const char* paramill_graph_problem() { return problem.c_str(); }

// Waits for the device and makes a stream of its own current on this thread, until `paramill_graph_leave`.
void* paramill_graph_enter(int device) {
    Recording* recording = nullptr;
    int done = attempt([&] {
        check(cudaDeviceSynchronize());
        recording = new Recording(static_cast<c10::DeviceIndex>(device));
        c10::cuda::setCurrentCUDAStream(recording->stream);
    });
    if (!done) {
        delete recording;
        return nullptr;
    }
    return recording;
}

// From here on nothing is computed, but recorded.
int paramill_graph_begin(void* recording) {
    return attempt([&] {
        check(cudaDeviceSynchronize());
        c10::cuda::CUDACachingAllocator::emptyCache();
        of(recording).graph.capture_begin();
        of(recording).is_open = true;
    });
}

// Ends what was begun, if it was, and makes the stream of before current again.
int paramill_graph_leave(void* recording) {
    int done = attempt([&] {
        if (of(recording).is_open) {
            of(recording).is_open = false;
            of(recording).graph.capture_end();
        }
        check(cudaDeviceSynchronize());
    });
    return attempt([&] { c10::cuda::setCurrentCUDAStream(of(recording).before); }) && done;
}

// Sends the graph to the current stream, and does not wait for it.
int paramill_graph_replay(void* recording) {
    return attempt([&] { of(recording).graph.replay(); });
}

void paramill_graph_free(void* recording) {
    attempt([&] { delete static_cast<Recording*>(recording); });
}

// Bytes of memory of the device, or 0.
unsigned long long paramill_graph_memory(int device) {
    size_t free = 0, total = 0;
    int before = 0;
    int done = attempt([&] {
        check(cudaGetDevice(&before));
        check(cudaSetDevice(device));
        check(cudaMemGetInfo(&free, &total));
        check(cudaSetDevice(before));
    });
    return done ? total : 0;
}
}
