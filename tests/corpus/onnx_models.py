# ctest: name=corpus.onnx_models, labels=corpus, timeout=1800
"""The corpus's other ONNX models (real, ort, burn, onnx2c, edge_valid): equal to what was recorded, else to ONNX Runtime, in the evaluator and as
emitted C; or refused, where the manifest allows that or the reason is one of REFUSED.

  onnx_models.py [--all] [--only REGEX]

Of what was recorded every model is evaluated and every 12th emitted (--all: all of them); a run is read for its inputs. Every 24th of them is
also written as ONNX and as TFLite (--all: all), which ONNX Runtime and LiteRT's reference resolver run on what was recorded: what is refused, by
Burin or by the runtime (which lacks kernels), is counted, and listed with --all. Of the rest open extents
are 2 (OPEN: others), the inputs are made, floats and small whole numbers; a model that ONNX Runtime does not run either has no other answer than
that C and evaluator agree. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401
import roads
import support

import numpy as np
import onnx
from onnx import numpy_helper

BURIN = os.environ["BURIN"]
ROOT = support.shared("corpus/onnx")
FOLDERS = ("real", "ort", "burn", "onnx2c", "edge_valid")
EACH, EACH_WRITTEN = 12, 24
# The steps of the first one's output are large beside what made inputs give; of the second a number has a scale for each channel beside one of one
# scale; of the third a Loop has slices alone; of the fourth a quotient by zero is quantised; names that are no UTF-8; a scaler of floats; groups over three
# extents, of a convolution and a transposed one.
WRITTEN = ["ort/conv_qdq_u8u8/model.onnx", "ort/transpose_optimizer_cancel_squeeze_per_axis_dq/model.onnx", "burn/subgraph__outer_scope_scan/model.onnx",
           "ort/layout_transform_reshape.qdq/model.onnx",
           "edge_valid/built_bad_utf8_names/model.onnx", "ort/csharp__testdata__model_181031_12/model.onnx", "burn/conv3d/model.onnx", "burn/conv_transpose3d/model.onnx"]
EQUAL_WRITTEN = 0.88  # of those that are to be written in a format
AT_LEAST = {"recorded": 740, "made": 66}
# Of the largest value, beside 1e-3 of each: what another order of adding and, of narrow floats, another place of rounding make.
LARGEST = {np.dtype(np.float16): 4e-3, np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-7}
REFUSED = {  # words of a refusal: why it is one, whatever the manifest says
    "not run here": "not run: gigabytes of values",
    "BeamSearch": "a search, with a model in it",
    "on what only a run says": "strings that are made while it runs",
    "whose outputs are random": "random",
    "in training, which is random": "random",
    "a tensor may have 8": "more than 8 extents",
    "FeatureVectorizer": "an operator that is missing",
    '"sclbl-onnx-node1" Gemm: extents 2 and 4 cannot': "a bias that does not fit, for ONNX Runtime neither",
}
KNOWN = {  # model: why it is other
    "ort/ort_github_issue_19590/model.onnx": "Cast of a float that u8 does not have: the standard leaves it open",
    "ort/webgpu_pow_cast_test/model.onnx": "Cast of what i64 does not have",
    "ort/layout_transform_fix_transpose_without_dq.qdq/model.onnx": "a step of 16 bits, where a sum lies between two",
    **{f"ort/test__python__transformers__test_data__models__whisper__{name}/model.onnx": "rows of thousands and small numbers are normalised: floats have no more digits"
       for name in ("decoder_mha_fused", "decoder_with_past_self_mha_split_bias_fused", "encoder_attention_with_sln_fused")},
    "burn/attention_qk_output_2/model.onnx": "ONNX Runtime masks with the lowest float, the standard with -inf",
}
OPEN = {}  # model: options that say its extents
HEAVY = {"real/ortgo_example_big_compute/model.onnx", "real/ortgo_example_big_compute_old/model.onnx"}


def expected():
    """path in ROOT -> what the manifest expects"""
    out = {}
    for line in (ROOT.parent / "MANIFEST.tsv").read_text().splitlines():
        fields = line.split("\t")
        if fields[0].startswith("onnx/") and fields[0].endswith(".onnx") and fields[0].split("/")[1] in FOLDERS:
            out[fields[0][5:]] = fields[5].strip('"')
    return out


def value_of(path, kind):
    data = pathlib.Path(path).read_bytes()
    if kind == "sequence_type":
        sequence = onnx.SequenceProto.FromString(data)
        return [numpy_helper.to_array(t) for t in sequence.tensor_values]
    if kind == "optional_type":
        optional = onnx.OptionalProto.FromString(data)
        return [numpy_helper.to_array(optional.tensor_value)] if optional.HasField("tensor_value") else []
    return [numpy_helper.to_array(onnx.TensorProto.FromString(data))]


def is_narrow(model):
    """Does it compute in f16 or bf16?"""
    types = {t.data_type for t in model.graph.initializer} | {i.type.tensor_type.elem_type for i in model.graph.input}
    return bool((types | {a.i for n in model.graph.node for a in n.attribute if n.op_type == "Cast" and a.name == "to"}) & {10, 16})


def differ(got, want, narrow=False):
    """why two arrays are not equal; None: they are"""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
    if want.dtype.kind not in "fV" and "float" not in want.dtype.name:
        return None if np.array_equal(got, want) else "other integers"
    largest = max(LARGEST.get(want.dtype, 3e-2), LARGEST[np.dtype(np.float16)] if narrow else 0)
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "others are finite"
    most = np.abs(b[finite]).max(initial=0)
    far = np.abs(a[finite] - b[finite]) - 1e-7 - 1e-3 * np.abs(b[finite]) - largest * most
    return f"by {np.abs(a[finite] - b[finite]).max():.3g}, the largest is {most:.3g}" if far.max(initial=-1) > 0 else None


def words_of(done):
    """What a command that did not end well says of it."""
    said = [line for line in done.stderr.splitlines() if ": warning: " not in line]
    return ("" if done.returncode == 1 else f"status {done.returncode}: ") + (said or ["it says nothing"])[0]


def run(model, kinds, inputs, provider, words=()):
    """-> (outputs, None) or (None, its words of refusal)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [BURIN, "run", model, *words, "--provider", provider, "--output-dir", folder, "--output-format", "pb", "--force", "--quiet"]
        try:
            done = subprocess.run(command + [w for i in inputs for w in ("--input", i)], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return None, "it takes more than 300 s"
        if done.returncode:
            return None, words_of(done)
        return [value_of(f"{folder}/output_{k}.pb", kind) for k, kind in enumerate(kinds)], None


def kinds_of(model):
    """What each output is; a sequence of maps from a class to its score is read as the tensor of scores."""
    types = [o.type for o in model.graph.output]
    maps = lambda t: t.HasField("sequence_type") and t.sequence_type.elem_type.HasField("map_type")
    return ["tensor_type" if maps(t) else t.WhichOneof("value") or "tensor_type" for t in types]  # of no stated type: a tensor


def recorded(path, provider):
    """-> (verdict, why) of a model with recorded inputs and outputs"""
    data = path.parent / "test_data_set_0"
    model = onnx.load(path, load_external_data=False)
    number = lambda p: int(re.findall(r"\d+", p.name)[-1])
    inputs, outputs = (sorted(data.glob(f"{what}_*.pb"), key=number) for what in ("input", "output"))
    kinds = kinds_of(model)
    got, why = run(path, kinds, inputs, provider)
    if got is None:
        return "refused", why
    if len(outputs) != len(kinds):
        return "other", f"{len(outputs)} outputs are recorded of {len(kinds)}"
    for k, kind in enumerate(kinds):
        want = value_of(outputs[k], kind)
        if len(want) != len(got[k]):
            return "other", f"output {k}: {len(got[k])} tensors, expected {len(want)}"
        for a, b in zip(got[k], want):
            why = differ(a, b, is_narrow(model))
            if why:
                return "other", f"output {k}: {why}"
    return "equal", ""


def step_of(model, output):
    """The scale of an output that a DequantizeLinear makes, else 0: quantised operators of two formats round a step apart"""
    made = {n.output[0]: n for n in model.graph.node if n.op_type == "DequantizeLinear"}
    scales = [numpy_helper.to_array(t) for t in model.graph.initializer if output in made and t.name == made[output].input[1]]
    return float(scales[0].reshape(-1)[0]) if scales and scales[0].size == 1 else 0.0


def ports_before(graph, name):
    """The names of what a value follows from, itself among them."""
    makers = {o: n for n in graph.node for o in n.output}
    found, ahead = set(), [name]
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += makers[one].input if one in makers else []
    return found


def written(path, ending):
    """-> (verdict, why) of a model with recorded inputs and outputs, written in that format and run by its runtime"""
    data = path.parent / "test_data_set_0"
    model = onnx.load(path, load_external_data=False)
    number = lambda p: int(re.findall(r"\d+", p.name)[-1])
    inputs, outputs = (sorted(data.glob(f"{what}_*.pb"), key=number) for what in ("input", "output"))
    given = [i for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer}]
    if set(kinds_of(model)) != {"tensor_type"} or any(i.type.WhichOneof("value") != "tensor_type" for i in given):
        return "refused", "values that are no tensors"
    arrays = [value_of(i, "tensor_type")[0] for i in inputs][:len(given)]
    words = []
    for port, array in zip(given, arrays):
        if array.size and array.ndim and any(d.dim_value <= 0 for d in port.type.tensor_type.shape.dim):
            words += ["--shape", f"{port.name}=" + "x".join(map(str, array.shape))]
    with tempfile.TemporaryDirectory() as folder:
        to = pathlib.Path(folder) / f"m.{ending}"
        for _ in range(4):
            try:
                done = subprocess.run([BURIN, "compile", path, "-o", to, "--check-cases", "1", "--quiet", *words], capture_output=True, text=True, timeout=120)
            except subprocess.TimeoutExpired:
                return "refused", "it takes more than 120 s"
            # what must be constant, and is an input or follows from some, is what was recorded of those
            asked = re.search(r"node\[(\d+)\].* whose input (\d+) is computed is not supported", done.stderr)
            name = model.graph.node[int(asked[1])].input[int(asked[2])] if asked and "graph/node[" in done.stderr else None
            if "say how many at most: --max-trips N" in done.stderr and "--max-trips" not in words:
                words += ["--max-trips", "16"]
                continue
            needed = ports_before(model.graph, name)
            known = [k for k, port in enumerate(given[:len(arrays)]) if port.name in needed]
            if not known:
                break
            for k in reversed(known):
                words += ["--constant", f"{given[k].name}={inputs[k]}"]
                del given[k], arrays[k], inputs[k]
        if done.returncode:
            return "other" if done.returncode == 3 else "refused", words_of(done)
        ports, got = roads.answers(to, lambda ports: [[a.reshape(s) if a.size == np.prod(s) else a for a, (s, _) in zip(arrays, ports)]])
    if ports is None:
        return "refused", f"by the runtime: {got}"
    for k, (one, file) in enumerate(zip(got[0], outputs)):
        want = value_of(file, "tensor_type")[0]
        one = one.reshape(want.shape) if one.size == want.size else one
        why = differ(one, want, is_narrow(model))
        step = step_of(model, model.graph.output[k].name) if ending == "tflite" else 0.0
        if why and not (step and one.shape == want.shape and np.abs(one - want).max() <= 1.0001 * step):
            return "other", f"output {k}: {why}"
    return "equal", ""


def report_written(what, results, whole):
    """Whether none is other, or an end that is none."""
    counts, reasons, fine = collections.Counter(), collections.Counter(), True
    for name, (verdict, why) in results:
        by = verdict if verdict != "refused" else "refused by the runtime" if why.startswith("by the runtime") else "refused"
        counts[by] += 1
        reasons[re.sub(r"^.*?node\[\d+\]( \"[^\"]*\")? |\(byte.*$", "", why)[:90]] += verdict == "refused"
        if verdict == "other" or why.startswith("status"):
            fine = fine and name in KNOWN
            print(f"   {verdict} {name}: {why[:200]}")
    if whole:
        for why, n in reasons.most_common(60):
            print(f"   {n:4} {why}")
    print(f"{what}: {len(results)} models: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    share = counts["equal"] / max(1, len(results))
    if len(results) >= 20 and share < EQUAL_WRITTEN:
        fine = False
        print(f"{what}: {share:.0%} are equal: expected {EQUAL_WRITTEN:.0%} or more")
    return fine


def open_extents(path):
    """Options that say the model's open extents, from what is asked for; and the refusal that is left"""
    words = list(OPEN.get(str(path.relative_to(ROOT)), ()))
    for _ in range(40):
        done = subprocess.run([BURIN, "plan", path, *words, "--quiet"], capture_output=True, text=True, timeout=300)
        asked = re.search(r"its open extents must be said: (.*?)( \(byte|$)", done.stderr)
        if done.returncode == 0 or not asked:
            return words, "" if done.returncode == 0 else words_of(done)
        words += [re.sub("=N$", "=2", w) if w.endswith("=N") else w for w in asked[1].replace(" --dim ", "\n--dim ").replace("--dim ", "--dim\n").split("\n") if w]
    return words, "its extents have no end"


def made(path, seed=5):
    """-> (verdict, why) of a model without outputs: against ONNX Runtime"""
    import onnxruntime
    words, why = open_extents(path)
    if why:
        return "refused", why
    if str(path.relative_to(ROOT)) in HEAVY:
        return "refused", "not run here"
    done = subprocess.run([BURIN, "inspect", path, *words, "--json"], capture_output=True, text=True)
    shown = json.loads(done.stdout)
    ports = [shown["tensors"][i] for i in shown["inputs"]]
    rng = np.random.default_rng(seed)
    feed = {}
    for port in ports:
        kind = port["type"]
        name = {"f": "float", "i": "int", "u": "uint", "b": "bool"}[kind[0]] + (kind[1:] if kind != "bool" else "")
        if not hasattr(np, name):
            return "agree" if compiles(path, words) else "other", f"an input is {kind}"
        array = rng.standard_normal(port["shape"]) if name.startswith("float") else rng.integers(0, 2, port["shape"])
        feed[port["name"]] = np.asarray(array).astype(name)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        want = session.run(None, feed)
    except Exception as fault:
        return ("agree" if compiles(path, words) else "other"), "ONNX Runtime: " + str(fault).splitlines()[0][:80]
    model = onnx.load(path, load_external_data=False)
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, array in feed.items():
            files.append(f"{folder}/{len(files)}.npy")
            np.save(files[-1], array)
        for provider in ("reference", "host"):
            got, why = run(path, kinds_of(model), files, provider, words)
            if got is None:
                return "refused", f"{provider}: {why}"
            for k, (a, b) in enumerate(zip(got, want)):
                b = b if isinstance(b, list) else [] if b is None else [b]
                b = [np.array([list(one.values()) for one in b], np.float32)] if b and isinstance(b[0], dict) else b
                if len(a) != len(b):
                    return "other", f"{provider}: output {k}: {len(a)} tensors, expected {len(b)}"
                for one, other in zip(a, b):
                    why = differ(one, np.asarray(other), is_narrow(model))
                    if why:
                        return "other", f"{provider}: output {k}: {why}"
    return "equal", ""


def compiles(path, words):
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([BURIN, "compile", path, *words, "-o", f"{folder}/c", "--check-cases", "1", "--quiet"], capture_output=True).returncode == 0


def allowed(name, why, expectations):
    if expectations[name].startswith(("compile or clear error", "clear error or compile", "compile and match, or")) and not why.startswith("status"):
        return "as the manifest allows"
    return next((reason for words, reason in REFUSED.items() if words in why), None)


def report(what, results, expectations):
    """Whether nothing is other or refused that may not be."""
    counts, fine = collections.Counter(), True
    for name, (verdict, why) in results:
        reason = allowed(name, why, expectations) if verdict == "refused" else KNOWN.get(name) if verdict == "other" else ""
        counts[verdict if reason == "" else f"{verdict}: {reason or 'may not be'}"] += 1
        if reason is None:
            fine = False
            print(f"   {verdict} {name}: {why[:300]}")
    print(f"{what}: {len(results)} models: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    return fine, counts["equal"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    expectations = expected()
    names = sorted(name for name in expectations if re.search(options.only, name))
    has = [name for name in names if list((ROOT / name).parent.glob("test_data_set_0/output_*.pb")) and name.endswith("/model.onnx")]
    rest = [name for name in names if name not in set(has)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = list(zip(has, pool.map(lambda n: recorded(ROOT / n, "reference"), has)))
        fine, equal = report("recorded, evaluator", first, expectations)
        chosen = [name for name, (verdict, _) in first if verdict == "equal"]
        chosen = chosen if options.all else chosen[::EACH]
        fine &= report("recorded, emitted C", list(zip(chosen, pool.map(lambda n: recorded(ROOT / n, "host"), chosen))), expectations)[0]
        chosen = [name for name, (verdict, _) in first if verdict == "equal"]
        chosen = [name for k, name in enumerate(chosen) if options.all or k % EACH_WRITTEN == 0 or name in WRITTEN]
        for ending, words in (("onnx", "ONNX in ONNX Runtime"), ("tflite", "TFLite in LiteRT")):
            fine &= report_written(f"recorded, written as {words}", list(zip(chosen, pool.map(lambda n: written(ROOT / n, ending), chosen))), options.all)
        others, same = report("made, evaluator and emitted C", list(zip(rest, pool.map(lambda n: made(ROOT / n), rest))), expectations)
    if not options.only:
        for what, n in (("recorded", equal), ("made", same)):
            if n < AT_LEAST[what]:
                fine = False
                print(f"{what}: {n} are equal: expected {AT_LEAST[what]} or more")
    sys.exit(not (fine and others))


main()
