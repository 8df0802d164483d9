"""Times emitted modules (shared libraries of host_net.c) beside LiteRT, alternating, in one process on one core, by CPU time.

Takes a list of networks as JSON on stdin: {name, library, model, given, wanted, seconds, profile}. Gives JSON on stdout: for each, the
samples' quartiles in microseconds an inference, for ours and for each of LiteRT's three kernel sets, of an ONNX model for ONNX Runtime;
exact: our outputs are `wanted`; without it, near what the peer gives (1e-4). Runs in any Python; the peers need numpy, ai_edge_litert and
onnxruntime, and are left out where they are missing.
"""
import ctypes
import json
import os
import statistics
import sys
import time

SAMPLE_NS = 300_000  # short inferences are timed several at once, so that the clock's own cost does not show

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    RESOLVERS = {
        "litert_reference": OpResolverType.BUILTIN_REF,
        "litert_builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        "litert_xnnpack": OpResolverType.BUILTIN,
    }
except ImportError:
    RESOLVERS = {}
try:
    import numpy as np
    import onnxruntime
except ImportError:
    onnxruntime = None


class Ours:
    def __init__(self, net):
        self.library = ctypes.CDLL(net["library"])
        self.given = bytes(net["given_bytes"])
        self.size = net.get("output_bytes") or len(net["wanted_bytes"])
        self.out = ctypes.create_string_buffer(max(1, self.size))
        if self.library.net_init():
            raise SystemExit(f"{net['name']}: net_init failed")

    def run(self, times):
        if self.library.net_run(self.given, self.out, times):
            raise SystemExit("net_run failed")

    def output(self):
        return self.out.raw[: self.size]

    def profile(self):
        ns = (ctypes.c_ulonglong * 512)()
        count = self.library.net_profile(self.given, self.out, 300, ns)
        return list(ns[:count])


class LiteRT:
    def __init__(self, net, resolver):
        with open(net["model"], "rb") as f:
            self.net = Interpreter(model_content=f.read(), experimental_op_resolver_type=RESOLVERS[resolver], num_threads=1)
        self.net.allocate_tensors()
        at = 0
        for d in self.net.get_input_details():
            n = int(np.prod(d["shape"])) * np.dtype(d["dtype"]).itemsize
            self.net.set_tensor(d["index"], np.frombuffer(net["given_bytes"][at : at + n], d["dtype"]).reshape(d["shape"]))
            at += n

    def run(self, times):
        for _ in range(times):
            self.net.invoke()


class OnnxRuntime:
    """Of one input and one output, both f32."""

    def __init__(self, net):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(net["model"], options, providers=["CPUExecutionProvider"])
        given = self.session.get_inputs()[0]
        self.feeds = {given.name: np.frombuffer(net["given_bytes"], "f4").reshape(given.shape)}

    def run(self, times):
        for _ in range(times):
            self.result = self.session.run(None, self.feeds)[0]

    def is_near(self, output):
        ours = np.frombuffer(output, "f4").reshape(self.result.shape)
        return bool(np.all(abs(ours - self.result) <= 1e-4 * abs(self.result) + 1e-5 * abs(self.result).max()))


def timed(runner, times):
    begin = time.process_time_ns()
    runner.run(times)
    return (time.process_time_ns() - begin) / times


def alternate(runners, seconds):
    """-> {name: samples in us an inference}; one sample of each in turn until the time is up."""
    batch = {}
    for name, runner in runners.items():
        runner.run(2)
        once = min(timed(runner, 1) for _ in range(3))
        batch[name] = max(1, int(SAMPLE_NS / max(once, 1)))
    samples = {name: [] for name in runners}
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(next(iter(samples.values()))) < 5:
        for name, runner in runners.items():
            samples[name].append(timed(runner, batch[name]) / 1e3)
    return samples


def summary(samples):
    low, middle, high = statistics.quantiles(samples, n=4) if len(samples) > 1 else samples * 3
    return {"min": min(samples), "q1": low, "median": middle, "q3": high, "samples": len(samples)}


def main():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answer = []
    for net in json.load(sys.stdin):
        for key in ("given", "wanted"):
            if net.get(key):
                with open(net[key], "rb") as f:
                    net[f"{key}_bytes"] = f.read()
        ours = Ours(net)
        if net["model"].endswith(".onnx"):
            runners = {"ours": ours, **({"onnxruntime": OnnxRuntime(net)} if onnxruntime else {})}
        else:
            runners = {"ours": ours, **{r: LiteRT(net, r) for r in RESOLVERS}}
        times = {name: summary(s) for name, s in alternate(runners, net["seconds"]).items()}
        exact = ours.output() == net["wanted_bytes"] if "wanted_bytes" in net else onnxruntime and runners["onnxruntime"].is_near(ours.output())
        answer.append({"name": net["name"], "exact": exact, "us": times,
                       "step_ns": ours.profile() if net.get("profile") else []})
    json.dump(answer, sys.stdout)


main()
