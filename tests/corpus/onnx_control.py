# ctest: name=corpus.onnx_control, labels=corpus, timeout=900
"""Control of ONNX against ONNX Runtime: functions of the model, If, Loop, Scan, sequences and optional values; and what newer operator sets lack.

Models are made here, by onnx's own package, and run by ONNX Runtime, by the evaluator and as emitted C; and they are written as
ONNX again, which passes onnx's checker with full checks and gives the same in ONNX Runtime. A model that is refused must be refused
by name. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BURIN = os.environ['BURIN']
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
rng = np.random.default_rng(5)


def value(name, type=F, shape=None):
    return helper.make_tensor_value_info(name, type, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def graph(nodes, inputs, outputs, constants=(), name='g'):
    return helper.make_graph(nodes, name, [value(*i) for i in inputs], [value(*o) for o in outputs], constants)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i64(*v):
    return np.array(v, np.int64)


class Case:
    """feed: arrays by name; runs: more of them, for one compiled module; flags: of burin; refused: words of the refusal when it
    is compiled, where a run may know more."""

    def __init__(self, name, nodes, inputs, outputs, constants=(), feeds=(), functions=(), opset=17, flags=(), refused=None,
                 sets=(), only_run=False):
        self.name, self.feeds, self.flags, self.refused, self.only_run = name, feeds, list(flags), refused, only_run
        self.model = helper.make_model(graph(nodes, inputs, outputs, constants), ir_version=10, functions=list(functions),
                                       opset_imports=[helper.make_opsetid('', opset)] + [helper.make_opsetid(d, 1) for d in sets])


CASES = []


def case(*a, **k):
    CASES.append(Case(*a, **k))


# ---- If ----
double = graph([node('Add', ['x', 'x'], ['d'])], [], [('d',)])
scaled = graph([node('Mul', ['x', 's'], ['sx']), node('Add', ['sx', 'y'], ['e'])], [], [('e',)], [constant('s', np.float32(3))])
for cond in (True, False):
    case(f'if_{cond}', [node('If', ['c'], ['o'], then_branch=double, else_branch=scaled)],
         [('c', B, []), ('x', F, [2, 3]), ('y', F, [3])], [('o', F, None)],
         feeds=[dict(c=np.array(cond), x=f32(2, 3), y=f32(3)), dict(c=np.array(not cond), x=f32(2, 3), y=f32(3))])
case('if_constant', [node('If', ['c'], ['o'], then_branch=double, else_branch=graph([node('Abs', ['x'], ['e'])], [], [('e',)]))],
     [('x', F, [2])], [('o', F, None)], [constant('c', np.array(True))], feeds=[dict(x=f32(2))])
case('if_hands_on', [node('Relu', ['x'], ['r']),
                     node('If', ['c'], ['o', 'p'], then_branch=graph([node('Identity', ['r'], ['a']), node('Identity', ['k'], ['b'])], [], [('a',), ('b',)]),
                          else_branch=graph([node('Identity', ['x'], ['a2']), node('Abs', ['r'], ['b2'])], [], [('a2',), ('b2',)]))],
     [('c', B, [1]), ('x', F, [4])], [('o', F, None), ('p', F, None)], [constant('k', f32(4))],
     feeds=[dict(c=np.array([v]), x=f32(4)) for v in (True, False)])
case('if_nobody_asks', [node('If', ['c'], ['o'], then_branch=double, else_branch=scaled), node('Shape', ['o'], ['n']), node('Relu', ['x'], ['r'])],
     [('c', B, []), ('x', F, [2, 3]), ('y', F, [3])], [('n', I, None), ('r', F, None)], feeds=[dict(c=np.array(True), x=f32(2, 3), y=f32(3))])
inner = [node('If', ['c2'], ['i'], then_branch=double, else_branch=scaled), node('Add', ['i', 'x'], ['ii'])]
case('if_nested', [node('If', ['c'], ['o'], then_branch=graph(inner, [], [('ii',)]), else_branch=graph([node('Abs', ['x'], ['q'])], [], [('q',)]))],
     [('c', B, []), ('c2', B, []), ('x', F, [2]), ('y', F, [2])], [('o', F, None)],
     feeds=[dict(c=np.array(a), c2=np.array(b), x=f32(2), y=f32(2)) for a in (True, False) for b in (True, False)])
case('if_shapes', [node('If', ['c'], ['o'], then_branch=double, else_branch=graph([node('Add', ['x', 'w'], ['q'])], [], [('q',)]))],
     [('c', B, []), ('x', F, [2])], [('o', F, None)], [constant('w', f32(3, 2))],
     feeds=[dict(c=np.array(v), x=f32(2)) for v in (True, False)], refused='If whose output 0 is f32 2 or f32 3x2')

# ---- Loop ----
LOOP_IN = [('i', I, []), ('k', B, []), ('v', F, None)]


def loop(nodes, outputs, constants=(), inputs=LOOP_IN):
    return graph(nodes, inputs, outputs, constants)


grows = loop([node('Add', ['v', 'x'], ['n']), node('Mul', ['n', 'n'], ['sq']), node('Identity', ['k'], ['kk'])],
             [('kk', B), ('n',), ('sq', F, [3])])
for n in (0, 1, 4):
    case(f'loop_{n}', [node('Loop', ['m', ''], ['f', 's'], body=grows)], [('x', F, [3]), ('v0', F, [3])], [('f', F, None), ('s', F, None)],
         [constant('m', np.int64(n))], feeds=[dict(x=f32(3), v0=f32(3))])
    CASES[-1].model.graph.node[0].input.append('v0')
counts = loop([node('Cast', ['i'], ['fi'], to=F), node('Add', ['v', 'fi'], ['n']), node('Identity', ['k'], ['kk'])], [('kk', B), ('n',)])
case('loop_run_decides', [node('Loop', ['m', '', 'v0'], ['f'], body=counts)], [('m', I, []), ('v0', F, [2])], [('f', F, None)],
     feeds=[dict(m=np.array(n), v0=f32(2)) for n in (0, 1, 5, -3)])
until = loop([node('Add', ['v', 'x'], ['n']), node('ReduceMax', ['n'], ['most'], keepdims=0), node('Less', ['most', 'end'], ['kk'])],
             [('kk', B), ('n',), ('n', F, [2])], [constant('end', np.float32(5))])
case('loop_condition', [node('Loop', ['m', 'c', 'v0'], ['f', 's'], body=until)], [('x', F, [2]), ('v0', F, [2]), ('c', B, [])],
     [('f', F, None), ('s', F, None)], [constant('m', np.int64(7))],
     feeds=[dict(x=np.array(x, np.float32), v0=np.zeros(2, np.float32), c=np.array(c)) for x in ([1, 2], [-1, -1], [9, 0]) for c in (True,)])
case('loop_while', [node('Loop', ['', 'c', 'v0'], ['f', 's'], body=until)], [('x', F, [2]), ('v0', F, [2]), ('c', B, [])],
     [('f', F, None), ('s', F, None)], flags=['--max-trips', '9'],
     feeds=[dict(x=np.array(x, np.float32), v0=np.zeros(2, np.float32), c=np.array(True)) for x in ([1, 2], [0.75, 0], [9, 0])])
case('loop_no_room', [node('Loop', ['', 'c', 'v0'], ['f', 's'], body=until)], [('x', F, [2]), ('v0', F, [2]), ('c', B, [])],
     [('f', F, None), ('s', F, None)], refused='--max-trips N')
swap = loop([node('Add', ['v', 'w'], ['n']), node('Identity', ['k'], ['kk'])], [('kk', B), ('n',), ('v',)], inputs=LOOP_IN + [('w', F, None)])
case('loop_fibonacci', [node('Loop', ['m', '', 'a', 'b'], ['f', 'g'], body=swap)], [('m', I, [1]), ('a', F, [1]), ('b', F, [1])],
     [('f', F, None), ('g', F, None)], feeds=[dict(m=np.array([n]), a=f32(1), b=f32(1)) for n in (0, 2, 9)])
concat = loop([node('Concat', ['v', 'x'], ['n'], axis=0), node('Identity', ['k'], ['kk'])], [('kk', B), ('n',)])
case('loop_longer', [node('Loop', ['m', '', 'v0'], ['f'], body=concat)], [('x', F, [2]), ('v0', F, [1])], [('f', F, None)],
     [constant('m', np.int64(3))], feeds=[dict(x=f32(2), v0=f32(1))])
case('loop_longer_as_a_run_says', [node('Loop', ['m', '', 'v0'], ['f'], body=concat)], [('x', F, [2]), ('v0', F, [1]), ('m', I, [])],
     [('f', F, None)], feeds=[dict(x=f32(2), v0=f32(1), m=np.array(4))], refused='Loop whose value 0 is f32 1 and becomes f32 3')
case('loop_slices_alone', [node('Loop', ['m', ''], ['s'], body=graph(
    [node('Cast', ['i'], ['fi'], to=F), node('Mul', ['fi', 'x'], ['sl']), node('Identity', ['k'], ['kk'])], LOOP_IN[:2], [('kk', B), ('sl', F, [2])]))],
     [('x', F, [2])], [('s', F, None)], [constant('m', np.int64(4))], feeds=[dict(x=f32(2))])
nested = loop([node('Loop', ['i', '', 'v'], ['u'], body=graph(
    [node('Add', ['v2', 'x'], ['n2']), node('Mul', ['n2', 'h'], ['n3']), node('Identity', ['k2'], ['kk2'])],
    [('i2', I, []), ('k2', B, []), ('v2', F, None)], [('kk2', B), ('n3',)], [constant('h', np.float32(0.5))])),
    node('Identity', ['k'], ['kk'])], [('kk', B), ('u',)])
case('loop_nested', [node('Loop', ['m', '', 'v0'], ['f'], body=nested)], [('x', F, [2]), ('v0', F, [2])], [('f', F, None)],
     [constant('m', np.int64(4))], feeds=[dict(x=f32(2), v0=f32(2))])
in_branch = graph([node('Loop', ['m', '', 'x'], ['z'], body=loop([node('Add', ['v', 'y'], ['n']), node('Identity', ['k'], ['kk'])], [('kk', B), ('n',)]))],
                  [], [('z',)])
case('loop_in_if', [node('If', ['c'], ['o'], then_branch=in_branch, else_branch=scaled)], [('c', B, []), ('x', F, [2]), ('y', F, [2]), ('m', I, [])],
     [('o', F, None)], feeds=[dict(c=np.array(c), x=f32(2), y=f32(2), m=np.array(m)) for c in (True, False) for m in (0, 3)])
if_in = loop([node('Less', ['i', 'two'], ['early']),
              node('If', ['early'], ['n'], then_branch=graph([node('Add', ['v', 'x'], ['t'])], [], [('t',)]),
                   else_branch=graph([node('Mul', ['v', 'x'], ['e'])], [], [('e',)])), node('Identity', ['k'], ['kk'])],
             [('kk', B), ('n',), ('n',)], [constant('two', np.int64(2))])
case('if_in_loop', [node('Loop', ['m', '', 'v0'], ['f', 's'], body=if_in)], [('x', F, [2]), ('v0', F, [2])], [('f', F, None), ('s', F, None)],
     [constant('m', np.int64(5))], feeds=[dict(x=f32(2), v0=f32(2))])

listed = graph([node('Squeeze', ['i', 'first'], ['at']), node('Gather', ['x', 'at'], ['row']), node('Add', ['v', 'row'], ['n']), node('Not', ['k'], ['nk']),
                node('Not', ['nk'], ['kk'])], [('i', I, [1]), ('k', B, [1]), ('v', F, None)], [('kk', B), ('n',), ('n',)], [constant('first', i64(0))])
for m in (3, None):
    case(f'loop_counts_in_lists_{m}', [node('Loop', ['m', 'yes', 'v0'], ['f', 's'], body=listed)], [('x', F, [4, 2]), ('v0', F, [2])] + [('m', I, [1])] * (m is None),
         [('f', F, None), ('s', F, None)], [constant('yes', np.array([True]))] + [constant('m', i64(m or 0))] * (m is not None),
         feeds=[dict(x=f32(4, 2), v0=f32(2), **({} if m else dict(m=i64(n)))) for n in ((1,) if m else (2, 4))], flags=[] if m else ['--max-trips', '5'])

totals = loop([node('Add', ['v', 'x'], ['n']), node('ReduceSum', ['n'], ['t'], keepdims=0), node('Less', ['t', 'high'], ['kk'])], [('kk', B), ('n',), ('t', F, [])],
              [constant('high', np.float32(1e9))])
case('loop_gives_scalars', [node('Loop', ['m', '', 'x'], ['f', 't'], body=totals)], [('x', F, [2]), ('m', I, [])], [('f', F, None), ('t', F, None)],
     feeds=[dict(x=f32(2), m=np.array(n)) for n in (2, 3, 6)], flags=['--max-trips', '6'])
stepped = loop([node('Add', ['v', 'x'], ['n']), node('Add', ['c', 'two'], ['c2']), node('Less', ['c2', 'most'], ['kk'])], [('kk', B), ('n',), ('c2', I, []), ('n', F, [2])],
               [constant('two', np.int64(2))], LOOP_IN + [('c', I, [])])
case('loop_result_read_twice', [node('Loop', ['', 'yes', 'x', 'zero'], ['f', 'c', 's'], body=stepped), node('Relu', ['s'], ['r']), node('Neg', ['s'], ['g'])],
     [('x', F, [2]), ('most', I, [])], [('f', F, None), ('r', F, None), ('g', F, None)], [constant('yes', np.array(True)), constant('zero', np.int64(0))],
     feeds=[dict(x=f32(2), most=np.array(n)) for n in (0, 5)], flags=['--max-trips', '6'])

# ---- Scan ----
scan = graph([node('Add', ['s', 'e'], ['t']), node('Mul', ['t', 'e2'], ['p']), node('Abs', ['e'], ['h2'])], [('s', F, None), ('e', F, None), ('e2', F, None)], [('t',), ('p',), ('h2',)])
for k, more in enumerate([{}, dict(scan_input_directions=[1, 0]), dict(scan_output_directions=[0, 1]),
                          dict(scan_input_directions=[0, 1], scan_output_directions=[1, 1], scan_output_axes=[1, -1])]):
    case(f'scan_{k}', [node('Scan', ['s0', 'a', 'b'], ['f', 'g', 'h'], body=scan, num_scan_inputs=2, **more)],
         [('s0', F, [2]), ('a', F, [4, 2]), ('b', F, [4, 2])], [('f', F, None), ('g', F, None), ('h', F, None)],
         feeds=[dict(s0=f32(2), a=f32(4, 2), b=f32(4, 2))])
case('scan_axes', [node('Scan', ['s0', 'a', 'b'], ['f', 'g', 'h'], body=scan, num_scan_inputs=2, scan_input_axes=[1, -2], scan_output_axes=[-1, 0])],
     [('s0', F, [2]), ('a', F, [2, 3]), ('b', F, [3, 2])], [('f', F, None), ('g', F, None), ('h', F, None)],
     feeds=[dict(s0=f32(2), a=f32(2, 3), b=f32(3, 2))])
case('scan_one', [node('Scan', ['s0', 'a', 'b'], ['f', 'g', 'h'], body=scan, num_scan_inputs=2)], [('s0', F, []), ('a', F, [1]), ('b', F, [1])],
     [('f', F, None), ('g', F, None), ('h', F, None)], feeds=[dict(s0=f32(), a=f32(1), b=f32(1))])
case('scan_8', [node('Scan', ['', 's0', 'a', 'b'], ['f', 'g', 'h'], body=scan, num_scan_inputs=2, directions=[0, 1])],
     [('s0', F, [2, 3]), ('a', F, [2, 4, 3]), ('b', F, [2, 4, 3])], [('f', F, None), ('g', F, None), ('h', F, None)], opset=8,
     feeds=[dict(s0=f32(2, 3), a=f32(2, 4, 3), b=f32(2, 4, 3))])

# ---- functions of the model ----
BASE = [helper.make_opsetid('', 17)]
leak = helper.make_function('own', 'Scaled', ['a', 'b'], ['o'], [
    node('Constant', [], ['c']), node('Mul', ['a', 'c'], ['m']), node('Add', ['m', 'b'], ['o'])], BASE, attribute_protos=[
        helper.make_attribute('by', 2.5)])
leak.node[0].attribute.append(onnx.AttributeProto(name='value_float', type=onnx.AttributeProto.FLOAT, ref_attr_name='by'))
twice = helper.make_function('own', 'Twice', ['a'], ['o', 'p'], [
    node('Scaled', ['a', 'a'], ['p'], domain='own', by=-1.0), node('Scaled', ['p', 'a'], ['o'], domain='own')],
    BASE + [helper.make_opsetid('own', 1)])
case('function', [node('Twice', ['x'], ['u', 'w'], domain='own'), node('Twice', ['u'], ['o', 'w2'], domain='own')], [('x', F, [3])],
     [('o', F, None), ('w', F, None)], functions=[leak, twice], sets=['own'], feeds=[dict(x=f32(3))])
picks = helper.make_function('own', 'Picks', ['c', 'a'], ['o'], [
    node('If', ['c'], ['o'], then_branch=graph([node('Scaled', ['a', 'a'], ['t'], domain='own')], [], [('t',)]),
         else_branch=graph([node('Abs', ['a'], ['e'])], [], [('e',)]))], BASE + [helper.make_opsetid('own', 1)])
case('function_with_if', [node('Picks', ['c', 'x'], ['o'], domain='own')], [('c', B, []), ('x', F, [3])], [('o', F, None)],
     functions=[leak, picks], sets=['own'], feeds=[dict(c=np.array(v), x=f32(3)) for v in (True, False)])
endless = helper.make_function('own', 'Again', ['a'], ['o'], [node('Again', ['a'], ['o'], domain='own')], [helper.make_opsetid('own', 1)])
case('function_endless', [node('Again', ['x'], ['o'], domain='own')], [('x', F, [3])], [('o', F, None)], functions=[endless], sets=['own'],
     refused='function Again reaches itself')

# ---- sequences and optional values, inside a graph ----
case('sequence', [node('SequenceConstruct', ['x', 'y'], ['s']), node('SequenceInsert', ['s', 'z', 'p'], ['s2']), node('SequenceErase', ['s2', 'q'], ['s3']),
                  node('SequenceLength', ['s3'], ['n']), node('SequenceAt', ['s3', 'q'], ['a']), node('ConcatFromSequence', ['s3'], ['b'], axis=0)],
     [('x', F, [1]), ('y', F, [2]), ('z', F, [3])], [('n', I, None), ('a', F, None), ('b', F, None)],
     [constant('p', np.int64(-1)), constant('q', np.int64(0))], feeds=[dict(x=f32(1), y=f32(2), z=f32(3))])
case('sequence_place', [node('SequenceConstruct', ['x', 'y', 'z'], ['s']), node('SequenceAt', ['s', 'p'], ['a'])],
     [('x', F, [2]), ('y', F, [2]), ('z', F, [2]), ('p', I, [])], [('a', F, None)],
     feeds=[dict(x=f32(2), y=f32(2), z=f32(2), p=np.array(p)) for p in (0, 2, -1, -3)])
case('sequence_split', [node('SplitToSequence', ['x', 'n'], ['s'], axis=1), node('SequenceMap', ['s'], ['t'], body=graph(
    [node('Relu', ['e'], ['r'])], [('e', F, None)], [('r',)])), node('ConcatFromSequence', ['t'], ['o'], axis=1)],
    [('x', F, [2, 5])], [('o', F, None)], [constant('n', np.int64(2))], feeds=[dict(x=f32(2, 5))])
case('sequence_stack', [node('SplitToSequence', ['x'], ['s'], axis=0, keepdims=0), node('ConcatFromSequence', ['s'], ['o'], axis=-1, new_axis=1)],
     [('x', F, [2, 5])], [('o', F, None)], feeds=[dict(x=f32(2, 5))])
collect = graph([node('SequenceInsert', ['v', 'x'], ['n']), node('Identity', ['k'], ['kk'])],
                [('i', I, []), ('k', B, [])], [('kk', B)])
collect.input.append(helper.make_value_info('v', helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, None))))
collect.output.append(helper.make_value_info('n', helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, None))))
case('sequence_in_loop', [node('SequenceEmpty', [], ['s0']), node('Loop', ['m', '', 's0'], ['s'], body=collect),
                          node('ConcatFromSequence', ['s'], ['o'], axis=0)], [('x', F, [2])], [('o', F, None)],
     [constant('m', np.int64(3))], feeds=[dict(x=f32(2))])


# ---- optional values that a run gives, or not ----
def optional(name, shape, sequence=False):
    tensor = helper.make_tensor_type_proto(F, shape)
    return helper.make_value_info(name, helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor) if sequence else tensor))


def gives(nodes, *outputs):
    made = graph(nodes, [], [])
    made.output.extend(outputs)
    return made


NONE = helper.make_tensor_type_proto(F, [2])
nothing = gives([helper.make_node('Optional', [], ['e'], type=NONE)], optional('e', [2]))
something = gives([node('Relu', ['x'], ['r']), node('Optional', ['r'], ['t'])], optional('t', [2]))
ELSE = graph([node('Neg', ['x'], ['ng'])], [], [('ng',)])
get = graph([node('OptionalGetElement', ['o'], ['g'])], [], [('g',)])
case('optional_of_a_run', [node('If', ['c'], ['o'], then_branch=something, else_branch=nothing), node('OptionalHasElement', ['o'], ['h']),
                           node('If', ['h'], ['y'], then_branch=get, else_branch=ELSE)],
     [('c', B, []), ('x', F, [2])], [('y', F, None), ('h', B, None)], opset=18, feeds=[dict(c=np.array(v), x=f32(2)) for v in (True, False)])
case('optional_of_two', [node('If', ['c'], ['o'], then_branch=gives(
    [node('If', ['d'], ['o2'], then_branch=nothing, else_branch=something)], optional('o2', [2])), else_branch=gives([node('Optional', ['x'], ['t'])], optional('t', [2]))),
    node('OptionalHasElement', ['o'], ['h']), node('If', ['h'], ['y'], then_branch=get, else_branch=ELSE)],
     [('c', B, []), ('d', B, []), ('x', F, [2])], [('y', F, None), ('h', B, None)], opset=18,
     feeds=[dict(c=np.array(c), d=np.array(d), x=f32(2)) for c in (True, False) for d in (True, False)])
case('optional_of_a_sequence', [node('If', ['c'], ['o'], then_branch=gives([helper.make_node('Optional', [], ['e'], type=helper.make_sequence_type_proto(NONE))],
                                                                          optional('e', [2], True)),
                                     else_branch=gives([node('SequenceConstruct', ['x', 'x'], ['s']), node('Optional', ['s'], ['t'])], optional('t', [2], True))),
                                node('OptionalHasElement', ['o'], ['h']), node('If', ['h'], ['y'], then_branch=graph(
                                    [node('OptionalGetElement', ['o'], ['g']), node('ConcatFromSequence', ['g'], ['j'], axis=0)], [], [('j',)]),
                                    else_branch=graph([node('Concat', ['x', 'x'], ['ng'], axis=-1), node('Abs', ['ng'], ['ab'])], [], [('ab',)]))],
     [('c', B, []), ('x', F, [2])], [('y', F, None)], opset=18, feeds=[dict(c=np.array(v), x=f32(2)) for v in (True, False)])
carries = loop([node('OptionalHasElement', ['o'], ['h']), node('If', ['h'], ['n'], then_branch=graph(
    [node('OptionalGetElement', ['o'], ['g']), node('Add', ['g', 'v'], ['t1'])], [], [('t1', F, [2])]), else_branch=graph([node('Neg', ['v'], ['t2'])], [], [('t2', F, [2])])),
    node('Optional', ['n'], ['o2']), node('Identity', ['k'], ['kk'])], [('kk', B, [])], inputs=[('i', I, []), ('k', B, [])])
carries.input.extend([value('v', F, [2]), optional('o', [2])])
carries.output.extend([value('n', F, [2]), optional('o2', [2])])
case('optional_in_loop', [helper.make_node('Optional', [], ['o0'], type=NONE), node('Loop', ['m', '', 'x', 'o0'], ['y', 'q'], body=carries),
                          node('OptionalHasElement', ['q'], ['h'])], [('x', F, [2]), ('m', I, [])], [('y', F, None), ('h', B, None)], opset=18,
     feeds=[dict(x=f32(2), m=np.array(n)) for n in (0, 1, 3)])
case('optional_as_output', [node('If', ['c'], ['o'], then_branch=something, else_branch=nothing)], [('c', B, []), ('x', F, [2])], [], opset=18,
     refused='an output that a run may leave without content')
CASES[-1].model.graph.output.append(optional('o', [2]))

# ---- what newer operator sets lack ----
for sizes in ([1, 2, 3, 2], [1, 2, 9, 6], [1, 2, 5, 11]):
    case('resize_tf_half_pixel_for_nn_' + 'x'.join(map(str, sizes)), [
        node('Resize', ['x', '', '', 'sizes'], ['y'], coordinate_transformation_mode='tf_half_pixel_for_nn', mode='nearest')],
        [('x', F, [1, 2, 4, 5])], [('y', F, None)], [constant('sizes', np.array(sizes))], opset=13, feeds=[dict(x=f32(1, 2, 4, 5))])

# ---- where onnx's reference evaluator has other places than the standard's text ----
for mode in ('linear', 'cubic'):
    for parts in (dict(sizes=np.array([1, 2, 6, 1])), dict(scales=np.array([1, 1, 2, .4], np.float32))):
        name = next(iter(parts))
        case(f'resize_{mode}_to_one_by_{name}', [node('Resize', ['x', '', 'scales' if name == 'scales' else '', *(['sizes'] if name == 'sizes' else [])], ['y'], mode=mode,
                                                      coordinate_transformation_mode='pytorch_half_pixel')],
             [('x', F, [1, 2, 2, 3])], [('y', F, None)], [constant(k, v) for k, v in parts.items()], opset=18, feeds=[dict(x=f32(1, 2, 2, 3))])


# ---- running ----
def reference(model, feed):
    """model: its bytes, or its path."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    return session.run(None, feed)


def written(c, path, folder):
    """A fault, or None: the model as Burin writes it."""
    to = f'{folder}/{c.name}_written.onnx'
    done = subprocess.run([BURIN, 'compile', path, '-o', to, '--force', '--quiet', *c.flags], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return done.stderr[:300]
    try:
        onnx.checker.check_model(to, full_check=True)
        for feed in c.feeds:
            for k, (got, want) in enumerate(zip(reference(to, feed), reference(c.model.SerializeToString(), feed))):
                if got.shape != want.shape or got.dtype != want.dtype or not np.allclose(got, want, 1e-5, 1e-6, equal_nan=True):
                    return f'output {k}: {got.shape} {got.ravel()[:6]}, and {want.shape} {want.ravel()[:6]}'
    except Exception as e:
        return str(e)[:300]
    return None


def run(path, feed, flags, folder):
    words = [BURIN, 'run', path, '--output-dir', folder, '--force', '--quiet', *flags]
    for name, array in feed.items():
        np.save(f'{folder}/{name}.npy', array)
        words += ['--input', f'{name}={folder}/{name}.npy']
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def differs(wanted, folder):
    for k, want in enumerate(wanted):
        got = np.load(f'{folder}/output_{k}.npy')
        if got.shape != want.shape or got.dtype != want.dtype or not np.allclose(got, want, 1e-5, 1e-6, equal_nan=True):
            return f'output {k}: {got.shape} {got.ravel()[:6]}, and {want.shape} {want.ravel()[:6]}'
    return None


def check(c, folder):
    faults = []
    path = f'{folder}/{c.name}.onnx'
    onnx.save(c.model, path)
    if c.refused:
        done = subprocess.run([BURIN, 'plan', path, *c.flags], capture_output=True, text=True, timeout=120)
        if done.returncode == 0 or c.refused not in done.stderr:
            faults.append(f'is not refused with "{c.refused}": {done.returncode} {done.stderr[:300]}')
    if not c.refused:
        fault = written(c, path, folder)
        if fault:
            faults.append(f'written: {fault}')
    for k, feed in enumerate(c.feeds):
        try:
            wanted = reference(c.model.SerializeToString(), feed)
        except Exception as e:                                   # a runtime's own errors are of many kinds
            faults.append(f'ONNX Runtime: {str(e)[:300]}')
            break
        ways = [('a run', path, c.flags)]
        if not c.refused:
            if k == 0:
                done = subprocess.run([BURIN, 'compile', path, '--target', 'ir', '-o', f'{folder}/{c.name}.ir', '--force', '--quiet', *c.flags],
                                      capture_output=True, text=True, timeout=120)
                if done.returncode:
                    faults.append(f'is not compiled: {done.stderr[:300]}')
                    break
            ways += [('the evaluator', f'{folder}/{c.name}.ir', c.flags), ('C', f'{folder}/{c.name}.ir', ['--provider', 'host', *c.flags])]
        for what, file, flags in ways:
            done = run(file, feed, flags, folder)
            fault = done.stderr[:300] if done.returncode else differs(wanted, folder)
            if fault:
                faults.append(f'{what}, run {k}: {fault}')
    return faults


def main():
    only = sys.argv[2:] if sys.argv[1:2] == ['--only'] else None
    bad = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for c in CASES:
            if only and c.name not in only:
                continue
            count += 1
            faults = check(c, folder)
            bad += bool(faults)
            for fault in faults:
                print(f'{c.name}: {fault}')
    print(f'{count} models, {bad} with faults')
    return 1 if bad or not count else 0


if __name__ == '__main__':
    sys.exit(main())
