"""What onnx.load and the creation of an ONNX Runtime session take for a model: CPU and wall, milliseconds, best of several.

Takes a model's path. Gives JSON on stdout: {load: [cpu, wall], session: [cpu, wall], resident_mb}; session null where ONNX Runtime
refuses the model. One thread, no optimisation of the graph, as a reader alone would be.
"""
import json
import resource
import sys
import time

import onnx
import onnxruntime

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 4


def best(work, times):
    cpu, wall = [], []
    for _ in range(times):
        begin, used = time.monotonic(), time.process_time()
        work()
        cpu.append(1e3 * (time.process_time() - used))
        wall.append(1e3 * (time.monotonic() - begin))
    return [min(cpu), min(wall)]


row = {"load": best(lambda: onnx.load(sys.argv[1]), 3)}
try:
    row["session"] = best(lambda: onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"]), 3)
except Exception as e:  # whatever it says, there is no number
    row["session"], row["why"] = None, str(e)[:200]
row["resident_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(row))
