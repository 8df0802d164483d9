"""Cases of recurrent layers and of attention."""
from onnx_cases import Case, In, known


def f(*shape, **more):
    return In('f32', shape, **more)


def w(*shape, **more):
    return known('f32', shape, -1, 1, **more)


def lengths(*values):
    return In('i32', (len(values),), values=values)


def half(*shape):
    return In('f16', shape, -1, 1)


CASES = [
    Case('onnx_rnn', 'plain', 'RNN', [f(3, 2, 2), w(1, 3, 2), w(1, 3, 3)], 2, 14, hidden_size=3),
    Case('onnx_rnn', 'both_ways_lengths', 'RNN', [f(4, 3, 2), w(2, 2, 2), w(2, 2, 2), w(2, 4), lengths(4, 1, 3), f(2, 3, 2)], 2, 14,
         hidden_size=2, direction='bidirectional', activations=['Relu', 'Tanh']),
    Case('onnx_rnn', 'reverse_clip_elu', 'RNN', [f(3, 1, 2), w(1, 2, 2), w(1, 2, 2), w(1, 4)], 2, 14, hidden_size=2, direction='reverse', clip=.5,
         activations=['Elu'], activation_alpha=[.7]),
    Case('onnx_rnn', 'batch_first', 'RNN', [f(2, 3, 2), w(1, 3, 2), w(1, 3, 3), None, None, f(2, 1, 3)], 2, 14, engine='ref', hidden_size=3, layout=1),
    Case('onnx_rnn', 'double', 'RNN', [In('f64', (2, 1, 2)), In('f64', (1, 2, 2)), In('f64', (1, 2, 2))], 2, 14, engine='ref', hidden_size=2),
    Case('onnx_rnn', 'affine', 'RNN', [f(2, 1, 2), w(1, 2, 2), w(1, 2, 2)], 2, 14, hidden_size=2, activations=['Affine'], activation_alpha=[.5],
         activation_beta=[.25]),
    Case('onnx_rnn', 'scaled_tanh', 'RNN', [f(2, 1, 2), w(1, 2, 2), w(1, 2, 2)], 2, 14, hidden_size=2, activations=['ScaledTanh'], activation_alpha=[1.5],
         activation_beta=[.5]),
    Case('onnx_rnn', 'leaky_thresholded', 'RNN', [f(2, 1, 2), w(2, 2, 2), w(2, 2, 2)], 2, 14, hidden_size=2, direction='bidirectional',
         activations=['LeakyRelu', 'ThresholdedRelu'], activation_alpha=[.1, .3]),
    Case('onnx_rnn', 'softsign_softplus', 'RNN', [f(2, 1, 2), w(2, 2, 2), w(2, 2, 2)], 2, 14, hidden_size=2, direction='bidirectional',
         activations=['Softsign', 'Softplus']),
    Case('onnx_rnn', 'same_function_other_slope', 'RNN', [f(2, 1, 2), w(2, 2, 2), w(2, 2, 2)], 2, 14, hidden_size=2, direction='bidirectional',
         activations=['HardSigmoid', 'HardSigmoid'], activation_alpha=[.2, .3], activation_beta=[.5, .4]),
    Case('onnx_gru', 'plain', 'GRU', [f(3, 2, 2), w(1, 9, 2), w(1, 9, 3), w(1, 18)], 2, 14, hidden_size=3),
    Case('onnx_gru', 'linear_both_ways_lengths', 'GRU', [f(4, 3, 2), w(2, 6, 2), w(2, 6, 2), w(2, 12), lengths(2, 4, 1), f(2, 3, 2)], 2, 14,
         hidden_size=2, direction='bidirectional', linear_before_reset=1),
    Case('onnx_gru', 'reverse_functions_clip', 'GRU', [f(3, 2, 2), w(1, 6, 2), w(1, 6, 2)], 2, 14, hidden_size=2, direction='reverse', clip=.8,
         activations=['HardSigmoid', 'Relu']),
    Case('onnx_gru', 'batch_first', 'GRU', [f(2, 3, 2), w(1, 6, 2), w(1, 6, 2), w(1, 12), None, f(2, 1, 2)], 2, 14, engine='ref', hidden_size=2, layout=1),
    Case('onnx_gru', 'last_only', 'GRU', [f(3, 2, 2), w(1, 6, 2), w(1, 6, 2)], 2, 14, hidden_size=2),
    Case('onnx_lstm', 'plain', 'LSTM', [f(3, 2, 2), w(1, 12, 2), w(1, 12, 3), w(1, 24)], 3, 14, hidden_size=3),
    Case('onnx_lstm', 'both_ways_lengths_peepholes', 'LSTM', [f(4, 3, 2), w(2, 8, 2), w(2, 8, 2), w(2, 16), lengths(3, 4, 1), f(2, 3, 2), f(2, 3, 2), w(2, 6)],
         3, 14, hidden_size=2, direction='bidirectional'),
    Case('onnx_lstm', 'coupled_clip', 'LSTM', [f(3, 2, 2), w(1, 8, 2), w(1, 8, 2)], 3, 14, hidden_size=2, input_forget=1, clip=.9, direction='reverse'),
    Case('onnx_lstm', 'functions', 'LSTM', [f(3, 1, 2), w(1, 8, 2), w(1, 8, 2)], 3, 14, hidden_size=2, activations=['HardSigmoid', 'ScaledTanh', 'Softsign'],
         activation_alpha=[.3, 1.2], activation_beta=[.4, .8]),
    Case('onnx_lstm', 'batch_first', 'LSTM', [f(2, 3, 2), w(1, 8, 2), w(1, 8, 2), w(1, 16)], 2, 14, engine='ref', hidden_size=2, layout=1),
    Case('attention', 'heads_apart', 'Attention', [f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 3)], engine='ref'),
    Case('attention', 'heads_side_by_side_shared', 'Attention', [f(1, 3, 8), f(1, 4, 4), f(1, 4, 6)], engine='ref', q_num_heads=4, kv_num_heads=2, scale=.3,
         is_causal=1),
    Case('attention', 'mask_cap_scores', 'Attention', [f(1, 2, 3, 4), f(1, 2, 4, 4), f(1, 2, 4, 4), f(3, 4)], ['out0', 'out1', 'out2', 'out3'], engine='ref', softcap=.5,
         qk_matmul_output_mode=2, opset=24),
    Case('attention', 'past_bool_mask', 'Attention', [f(1, 2, 2, 4), f(1, 2, 2, 4), f(1, 2, 2, 3), In('bool', (1, 1, 2, 5)), f(1, 2, 3, 4), f(1, 2, 3, 3)],
         ['out0', 'out1', 'out2', 'out3'], engine='ref', is_causal=1, qk_matmul_output_mode=3, opset=24),
    Case('attention', 'windows_lengths', 'Attention', [f(2, 1, 3, 4), f(2, 1, 6, 4), f(2, 1, 6, 4), None, None, None, In('i64', (2,), values=[6, 4])], engine='ref',
         opset=25, left_window_size=2, right_window_size=0),
    Case('attention', 'half', 'Attention', [half(1, 2, 2, 4), half(1, 2, 3, 4), half(1, 2, 3, 4)], engine='ref'),
    Case('attention', 'double', 'Attention', [In('f64', (1, 1, 2, 4)), In('f64', (1, 1, 3, 4)), In('f64', (1, 1, 3, 4))], engine='ref'),
    Case('rotary_embedding', 'halves', 'RotaryEmbedding', [f(1, 2, 3, 4), f(5, 2), f(5, 2), In('i64', (1, 3), values=[4, 0, 2])], engine='ref'),
    Case('rotary_embedding', 'neighbours_side_by_side', 'RotaryEmbedding', [f(2, 2, 8), f(2, 2, 2), f(2, 2, 2)], engine='ref', interleaved=1, num_heads=2),
    Case('rotary_embedding', 'part', 'RotaryEmbedding', [half(1, 1, 2, 6), half(3, 2), half(3, 2), In('i64', (1, 2), values=[2, 1])], engine='ref',
         rotary_embedding_dim=4),
    Case('linear_attention', 'gated_delta_shared', 'LinearAttention', [f(1, 3, 8, low=-1, high=1), f(1, 3, 4, low=-1, high=1), f(1, 3, 6), f(1, 2, 2, 3), f(1, 3, 4, low=-1, high=0),
         f(1, 3, 2, low=0, high=1)], 2, 27, engine='ref', q_num_heads=4, kv_num_heads=2),
    Case('linear_attention', 'linear_scaled', 'LinearAttention', [f(2, 2, 4), f(2, 2, 4), f(2, 2, 4)], 2, 27, engine='ref', q_num_heads=2, kv_num_heads=2,
         update_rule='linear', scale=.25),
    Case('linear_attention', 'gated_heads', 'LinearAttention', [f(1, 2, 4), f(1, 2, 4), f(1, 2, 4), None, f(1, 2, 2, low=-1, high=0)], 2, 27, engine='ref',
         q_num_heads=2, kv_num_heads=2, update_rule='gated'),
    Case('causal_conv_with_state', 'plain', 'CausalConvWithState', [f(2, 3, 4), w(3, 1, 3), w(3)], 2, 27, engine='ref'),
    Case('causal_conv_with_state', 'past_silu', 'CausalConvWithState', [f(1, 2, 2), w(2, 1, 4), None, f(1, 2, 3)], 2, 27, engine='ref', activation='silu'),
    Case('causal_conv_with_state', 'half', 'CausalConvWithState', [half(1, 2, 3), half(2, 1, 2)], 1, 27, engine='ref'),
    Case('swiglu', 'plain', 'SwiGLU', [f(2, 3), f(2, 3)], 1, 28, engine='ref', alpha=1.5),
    Case('swiglu', 'double', 'SwiGLU', [In('f64', (2, 3)), In('f64', (2, 3))], 1, 28, engine='ref'),
]
