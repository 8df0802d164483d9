"""Cases of operators that move elements."""
from onnx_cases import Case, In, known

INTS = ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64']
FLOATS = ['f32', 'f64', 'f16']
ALL = FLOATS + INTS + ['bool']
UNSORTED = ['f32', 'f64', 'f16', 'i8', 'i32', 'i64', 'u8', 'u64']


def some(type, *shape, low=-5, high=5, **more):
    """Few different numbers, exact in every type."""
    return In(type, shape, 0 if type[0] == 'u' else low, high, **more) if type[0] in 'iub' else In(
        type, shape, values=[low + k * 7 % (2 * (high - low) + 1) / 2 for k in range(product(shape))], **more)


def product(shape):
    n = 1
    for extent in shape:
        n *= extent
    return n


def index(*values, shape=None, type='i64'):
    return In(type, shape or (len(values),), values=values)


def shape(*values, type='i64'):
    return known(type, (len(values),), values=values)


def one(value, type='i64', extents=()):
    return known(type, extents, values=value)


def flags(*values):
    return In('bool', (len(values),), values=values)


BOXES = [[[0, 0, 1, 1], [0, .1, 1, 1.1], [0, -.1, 1, .9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]]
FLIPPED = [[[1, 1, 0, 0], [1, 1.1, 0, .1], [1, .9, 0, -.1], [1, 11, 0, 10], [1, 11.1, 0, 10.1], [1, 101, 0, 100]]]
CENTERS = [[[.5, .5, 1, 1], [.6, .5, 1, 1], [.4, .5, 1, 1], [10.5, .5, 1, 1], [10.6, .5, 1, 1], [100.5, .5, 1, 1]]] * 2
SCORES = [[[.9, .75, .6, .95, .5, .3], [.1, .2, .9, .9, .8, .7]]]
THETA = [[[1, .5, .25], [-.25, .75, -.125]], [[.75, 0, 0], [0, 2, 1]]]
THETA3 = [[[1, .5, .25, .125], [-.25, .75, -.125, 0], [.25, .125, 1.25, -.5]]]
REGIONS = [[0, 0, 4, 4], [1.5, .5, 5.5, 3.25], [-2, -1, 9, 7]]
POOLED = [[0, 0, 0, 3, 3], [1, 1, .4, 5.6, 2.5], [0, 4, 4, 2, 2], [1, -3, -2, 9, 9]]


def nms(name, boxes, scores, most=None, share=None, least=None, **attrs):
    number = [index(most) if most is not None else None] if most is None or isinstance(most, int) else [most]
    rest = [None if v is None else In('f32', (1,), values=v) for v in (share, least)]
    inputs = [In('f32', (len(boxes), 6, 4), values=boxes), In('f32', (len(scores), len(scores[0]), 6), values=scores), *number, *rest]
    while inputs[-1] is None:
        inputs.pop()
    return Case('non_max_suppression', 'onnx_' + name, 'NonMaxSuppression', inputs, opset=11, **attrs)


def resize(name, x, scales=None, sizes=None, roi=None, engine='ref', within=None, **attrs):
    parts = [known('f32', (len(roi),), values=roi) if roi else None, known('f32', (len(scales),), values=scales) if scales else None,
             shape(*sizes) if sizes else None]
    while parts[-1] is None:
        parts.pop()
    return Case('resize', name, 'Resize', [x, *parts], engine=engine, within=within, opset=19, **attrs)


IMAGE = In('f32', (1, 1, 4, 5), -4, 4)


def resizes():
    cases = []
    for transform in ('half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel', 'half_pixel_symmetric'):
        for mode in ('nearest', 'linear', 'cubic'):
            # weights of cubic ones are exact in f32 here
            up = dict(scales=[1, 1, 1.7, 1.3]) if mode != 'cubic' else dict(sizes=[1, 1, 7, 9]) if transform == 'align_corners' else dict(scales=[1, 1, 2, 1])
            cases += [resize(f'{mode}_{transform}_up', IMAGE, mode=mode, coordinate_transformation_mode=transform, **up),
                      resize(f'{mode}_{transform}_down', IMAGE, sizes=[1, 1, 2, 3], mode=mode, coordinate_transformation_mode=transform)]
    for way in ('round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'):
        cases += [resize(f'nearest_{way}', IMAGE, sizes=[1, 1, 7, 2], mode='nearest', nearest_mode=way),
                  resize(f'nearest_asymmetric_{way}', IMAGE, sizes=[1, 1, 8, 10], mode='nearest', nearest_mode=way,
                         coordinate_transformation_mode='asymmetric')]
    for mode in ('nearest', 'linear', 'cubic'):
        cases.append(resize(f'crop_{mode}', IMAGE, sizes=[1, 1, 3, 4], roi=[0, 0, .25, -.25, 1, 1, .75, 1.25], mode=mode,
                            coordinate_transformation_mode='tf_crop_and_resize', extrapolation_value=7.5))
    for mode in ('linear', 'cubic'):
        cases += [resize(f'antialias_{mode}_down', IMAGE, sizes=[1, 1, 2, 2], mode=mode, antialias=1),
                  resize(f'antialias_{mode}_mixed', IMAGE, scales=[1, 1, .5, 1.6], mode=mode, antialias=1),
                  resize(f'exclude_outside_{mode}', IMAGE, scales=[1, 1, 2, .6 if mode == 'linear' else 1], mode=mode, exclude_outside=1)]
    return cases + [
        resize('cubic_coefficient', IMAGE, scales=[1, 1, 2, .8], mode='cubic', cubic_coeff_a=-.5),
        resize('linear_one_extent', In('f32', (5,)), scales=[1.5], mode='linear'),
        resize('linear_three_extents', In('f32', (2, 3, 4)), sizes=[3, 2, 5], mode='linear'),
        resize('linear_f64', In('f64', (1, 1, 4, 5)), sizes=[1, 1, 3, 7], mode='linear'),
        resize('nearest_i8', In('i8', (1, 1, 2, 3), -9, 9), sizes=[1, 1, 4, 5], mode='nearest'),
        resize('nearest_i64', In('i64', (2, 2), -9, 9), scales=[2, 2.5], mode='nearest'),
        resize('same', IMAGE, scales=[1, 1, 1, 1], mode='linear'),
        resize('not_larger', In('f32', (2, 3, 8), -4, 4), sizes=[7, 6], axes=[2, 1], mode='nearest', keep_aspect_ratio_policy='not_larger')]


CASES = [
    *[Case('compress', f'axis_{t}', 'Compress', [some(t, 2, 4), flags(True, False, True)], engine='ref', axis=1) for t in ALL],
    Case('compress', 'axis_0', 'Compress', [some('f32', 3, 2), flags(False, True, True)], engine='ref', axis=0),
    Case('compress', 'flat', 'Compress', [some('f32', 2, 3), flags(False, True, False, False, True)], engine='ref'),
    Case('compress', 'none_kept', 'Compress', [some('f32', 2, 2), flags(False, False)], engine='ref', axis=0),
    *[Case('eye_like', f'k_{k}'.replace('-', 'm'), 'EyeLike', [some('i32', 3, 4)], engine='ref', k=k, dtype=1) for k in (0, 1, -1, 5)],
    *[Case('eye_like', t, 'EyeLike', [some(t, 2, 3)], engine='ref') for t in ('f64',)],     # of integers it is known when the model is read
    Case('eye_like', 'bool', 'EyeLike', [some('f32', 2, 2)], engine='ref', dtype=9),
    *[Case('trilu', f'upper_{t}', 'Trilu', [some(t, 3, 4)], engine='ref') for t in ALL],
    *[Case('trilu', f'{"upper" if up else "lower"}_k_{k}'.replace('-', 'm'), 'Trilu', [some('f32', 2, 3, 4), In('i64', (), values=k)], engine='ref', upper=up)
      for up in (0, 1) for k in (-2, 1, 7)],
    *[Case('gather', f'from_end_{t}', 'Gather', [some(t, 2, 4), index(-1, 0, -4)], engine='ref', axis=1) for t in ALL],
    Case('gather', 'from_end_i32_scalar', 'Gather', [some('f32', 3, 2), In('i32', (), values=-2)], axis=0),
    Case('gather', 'from_end_no_indices', 'Gather', [some('f32', 3, 2), index()], axis=0),
    *[Case('gather_elements', t, 'GatherElements', [some(t, 2, 3), index(-1, 0, 1, -3, shape=(2, 2))], engine='ref', axis=1) for t in ALL],
    Case('gather_elements', 'axis_0_longer', 'GatherElements', [some('f32', 2, 3), index(1, 0, -1, -2, 0, 1, shape=(3, 2), type='i32')], axis=0),
    Case('gather_elements', 'rank_3', 'GatherElements', [some('f32', 2, 2, 3), In('i64', (2, 1, 4), -3, 2)], axis=2),
    Case('gather_nd', 'from_end', 'GatherND', [some('f32', 2, 3, 2), index(0, -1, -2, 1, shape=(2, 2))]),
    Case('gather_nd', 'batch_dims_1', 'GatherND', [some('f32', 2, 3, 2), index(1, -1, shape=(2, 1))], batch_dims=1),
    Case('gather_nd', 'batch_dims_2', 'GatherND', [some('i32', 2, 2, 3), In('i64', (2, 2, 2, 1), -3, 2)], engine='ref', batch_dims=2),
    *[Case('scatter_elements', f'none_{t}', 'ScatterElements', [some(t, 2, 4), index(1, -1, 0, 2, shape=(2, 2)), some(t, 2, 2)], engine='ref', axis=1)
      for t in ALL],
    *[Case('scatter_elements', f'{way}_{t}', 'ScatterElements', [some(t, 3, 2), index(1, 0, 1, -3, -1, 2, shape=(3, 2)), some(t, 3, 2)], engine='ref', axis=0,
           reduction=way) for way in ('add', 'mul', 'max', 'min') for t in UNSORTED],
    Case('scatter_elements', 'later_holds', 'ScatterElements', [some('f32', 3), index(1, 1, type='i32'), some('f32', 2)], axis=0),
    *[Case('scatter_nd', f'from_end_none_{t}', 'ScatterND', [some(t, 4, 2), index(1, -1, shape=(2, 1)), some(t, 2, 2)], engine='ref') for t in ALL],
    *[Case('scatter_nd', f'{way}_{t}', 'ScatterND', [some(t, 3, 2), index(1, 1, -3, shape=(3, 1)), some(t, 3, 2)], engine='ref', reduction=way)
      for way in ('add', 'mul', 'max', 'min') for t in UNSORTED],
    Case('scatter_nd', 'full_index', 'ScatterND', [some('f32', 2, 2), index(1, 0, 0, -1, shape=(2, 2)), some('f32', 2)]),
    Case('tensor_scatter', 'linear', 'TensorScatter', [some('f32', 2, 4, 2), some('f32', 2, 2, 2), index(1, 2)], engine='ref', opset=24, axis=1),
    Case('tensor_scatter', 'circular', 'TensorScatter', [some('f32', 2, 4, 2), some('f32', 2, 3, 2), index(3, 2)], engine='ref', opset=24, axis=1,
         mode='circular'),
    Case('tensor_scatter', 'no_places_f16', 'TensorScatter', [some('f16', 1, 2, 3, 2), some('f16', 1, 2, 1, 2)], engine='ref', opset=24),
    Case('one_hot', 'values', 'OneHot', [index(0, -1, 2, 7, shape=(2, 2)), one(3), In('f32', (2,), values=[2, 5])], engine='ref'),
    Case('one_hot', 'values_axis_0_float_indices', 'OneHot', [In('f32', (3,), values=[1, -2, 0]), one(2), index(0, 1)], engine='ref', axis=0),
    Case('one_hot', 'values_u8', 'OneHot', [index(1, 3, type='u8'), one(4), In('i32', (2,), values=[0, 9])], engine='ref', axis=1),
    *[Case('depth_to_space', f'nchw_{m.lower()}', 'DepthToSpace', [some('f32', 1, 8, 2, 1)], blocksize=2, mode=m) for m in ('DCR', 'CRD')],
    Case('depth_to_space', 'nchw_i8', 'DepthToSpace', [some('i8', 2, 9, 1, 2)], engine='ref', blocksize=3),
    *[Case('space_to_depth', f'nchw_{m.lower()}', 'SpaceToDepth', [some('f32', 1, 2, 4, 2)], engine='ref', opset=28, blocksize=2, mode=m)
      for m in ('DCR', 'CRD')],
    *[Case('nonzero', t, 'NonZero', [some(t, 2, 5, low=-1, high=1)], engine='ref') for t in ALL],
    Case('nonzero', 'scalar', 'NonZero', [In('f32', (), values=3)], engine='ref'),
    Case('nonzero', 'nan_and_zeros', 'NonZero', [In('f32', (1, 1, 3), values=[float('nan'), 0.0, -0.0])], engine='ref'),
    *[Case('pad', f'{m}_{name}', 'Pad', [some(t, *extents), shape(*pads)], opset=19, mode=m)
      for m in ('reflect', 'edge', 'wrap') for name, t, extents, pads in (
          ('f32', 'f32', (2, 4), (1, 3, 0, 2)), ('i64', 'i64', (5,), (2, 4)), ('negative', 'f32', (2, 5), (0, -1, 1, 2)))],
    Case('pad', 'negative', 'Pad', [some('f32', 2, 5), shape(0, -1, 1, -2)], opset=19),
    *[Case('topk', f'{"largest" if largest else "least"}_{t}', 'TopK', [some(t, 2, 5, 2, low=-3, high=3), shape(3)], 2, engine='ref', opset=24, axis=1,
           largest=largest) for t in UNSORTED + ['u16'] for largest in (0, 1)],
    Case('topk', 'all_of_one', 'TopK', [some('f32', 1, 2), shape(1)], 2, axis=0),
    *[Case('unique', f'{"sorted" if s else "as_they_come"}_{t}', 'Unique', [some(t, 7, low=-1, high=1)], 4, engine='ref', opset=28, sorted=s)
      for s in (0, 1) for t in ('f32', 'f64', 'i64', 'i8', 'u8')],
    *[Case('unique', f'{"sorted" if s else "as_they_come"}_axis_0', 'Unique', [In('f32', (4, 2), values=[3, 0, 1, 2, 3, 0, 1, 1])], 4, sorted=s, axis=0)
      for s in (0, 1)],
    *[Case('unique', f'{"sorted" if s else "as_they_come"}_axis_1', 'Unique', [some('f32', 2, 5, 2, low=0, high=1)], 4, sorted=s, axis=1) for s in (0, 1)],
    nms('many', BOXES, SCORES, 3, .5, 0), nms('flipped', FLIPPED, [SCORES[0][:1]], 4, .5), nms('known', BOXES, SCORES, one(2), .5, .25),
    nms('centers', CENTERS, [SCORES[0][:1], SCORES[0][1:]], 9, .5, .4, center_point_box=1), nms('no_number', BOXES, SCORES),
    Case('affine_grid', 'image', 'AffineGrid', [In('f32', (2, 2, 3), values=THETA), shape(2, 1, 2, 4)], engine='ref'),
    Case('affine_grid', 'image_corners', 'AffineGrid', [In('f32', (2, 2, 3), values=THETA), shape(2, 1, 2, 3)], align_corners=1),
    Case('affine_grid', 'volume', 'AffineGrid', [In('f32', (1, 3, 4), values=THETA3), shape(1, 1, 2, 2, 4)], engine='ref'),
    Case('affine_grid', 'volume_corners_f64', 'AffineGrid', [In('f64', (1, 3, 4), values=THETA3), shape(1, 1, 2, 2, 3)], align_corners=1),
    *[Case('grid_sample', f'{m}_{pad}_{corners}', 'GridSample', [In('f32', (1, 2, 3, 4), -4, 4), In('f32', (1, 2, 3, 2), -1.4, 1.4)], opset=20, mode=m,
           padding_mode=pad, align_corners=corners) for m in ('nearest', 'linear', 'cubic') for pad in ('zeros', 'border', 'reflection') for corners in (0, 1)],
    *[Case('grid_sample', f'volume_{m}_{pad}', 'GridSample', [In('f32', (1, 1, 2, 3, 2), -4, 4), In('f32', (1, 1, 2, 2, 3), -1.4, 1.4)], engine='ref', opset=20,
           mode=m, padding_mode=pad) for m in ('nearest', 'linear') for pad in ('zeros', 'reflection')],
    Case('grid_sample', 'f64', 'GridSample', [In('f64', (1, 1, 3, 4)), In('f64', (1, 2, 2, 2), -1.2, 1.2)], opset=20),
    *[Case('roi_align', f'{m}_{transform}_{ratio}', 'RoiAlign', opset=16, inputs=[In('f32', (2, 1, 5, 6), -4, 4), In('f32', (3, 4), values=REGIONS), index(0, 1, 0)], mode=m,
           coordinate_transformation_mode=transform, sampling_ratio=ratio, output_height=2, output_width=3, spatial_scale=.75)
      for m in ('avg', 'max') for transform in ('half_pixel', 'output_half_pixel') for ratio in (0, 2)],
    Case('roi_align', 'f64', 'RoiAlign', opset=16, inputs=[In('f64', (2, 1, 5, 6), -4, 4), In('f64', (3, 4), values=REGIONS), index(0, 1, 0)], output_height=1, output_width=2),
    Case('max_roi_pool', 'regions', 'MaxRoiPool', [In('f32', (2, 1, 5, 6), -4, 4), In('f32', (4, 5), values=POOLED)], opset=1, pooled_shape=[2, 3]),
    Case('max_roi_pool', 'scaled', 'MaxRoiPool', [In('f32', (2, 1, 5, 6), -4, 4), In('f32', (1, 5), values=[1, 2, 1, 10, 9])], opset=1, pooled_shape=[1, 2],
         spatial_scale=.5),
    Case('col2im', 'plain', 'Col2Im', [some('f32', 1, 4, 6), shape(3, 4), shape(2, 2)]),
    Case('col2im', 'all', 'Col2Im', [some('f32', 2, 8, 8), shape(2, 5), shape(2, 2)], strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 1]),
    Case('col2im', 'one_extent', 'Col2Im', [some('f32', 1, 3, 3), shape(5), shape(3)]),
    *resizes(),
]
