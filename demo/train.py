#!/usr/bin/env python3
"""Trains the demo's network and writes digits.tflite and heldout.txt beside this file. See README.md.

Takes: scikit-learn's handwritten digits. Gives: an int8 TFLite network; the held-out images with their labels and with the
outputs of two runtimes that are not this project's. Prints the accuracies that README.md states.
"""
import os
import pathlib

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from sklearn.datasets import load_digits
from tflite_micro import runtime as micro

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20
HELD_OUT = 360          # the last images: the data set is in the order of its writers, so most come from others' hands
EPOCHS = 120
BATCH = 32

HEADER = f"""\
# The last {HELD_OUT} of the 1,797 images of "Optical Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak;
# UCI Machine Learning Repository, doi 10.24432/C50P49; licence CC BY 4.0), as scikit-learn gives them. Made by train.py.
# One image a line: its label; 8 x 8 grey values row by row, each 0 (paper) to 16 (ink) as a letter a to q;
# the ten int8 outputs of digits.tflite as hexadecimal bytes by TFLite Micro; the same by LiteRT's reference kernels.
"""


def augmented(images, rng):
    """The images, each turned, scaled, sheared and moved a little, with bilinear interpolation."""
    count = len(images)
    angle, shear = rng.normal(0, 0.12, count), rng.normal(0, 0.1, count)
    scale = rng.normal(1, 0.07, (2, count))
    move = rng.normal(0, 0.35, (2, count))
    y, x = np.meshgrid(np.arange(8) - 3.5, np.arange(8) - 3.5, indexing="ij")
    cos, sin = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    sx = (cos * x + (sin + shear[:, None, None]) * y) * scale[0][:, None, None] + move[0][:, None, None] + 3.5
    sy = (cos * y - sin * x) * scale[1][:, None, None] + move[1][:, None, None] + 3.5
    padded = np.pad(images[..., 0], ((0, 0), (2, 2), (2, 2)))
    sx, sy = np.clip(sx + 2, 0, 10.999), np.clip(sy + 2, 0, 10.999)
    ix, iy = sx.astype(int), sy.astype(int)
    fx, fy = sx - ix, sy - iy
    n = np.arange(count)[:, None, None]
    top = padded[n, iy, ix] * (1 - fx) + padded[n, iy, ix + 1] * fx
    bottom = padded[n, iy + 1, ix] * (1 - fx) + padded[n, iy + 1, ix + 1] * fx
    return (top * (1 - fy) + bottom * fy)[..., None].astype(np.float32)


def network():
    layers = tf.keras.layers

    def normalised(layer):
        return [layer, layers.BatchNormalization(), layers.ReLU()]

    return tf.keras.Sequential([
        layers.Input((8, 8, 1), batch_size=1, name="image"),
        *normalised(layers.Conv2D(16, 3, padding="same", use_bias=False, name="strokes")),
        *normalised(layers.DepthwiseConv2D(3, padding="same", use_bias=False, name="blur")),
        *normalised(layers.Conv2D(32, 1, use_bias=False, name="mix")),
        layers.MaxPooling2D(2),
        *normalised(layers.DepthwiseConv2D(3, padding="same", use_bias=False, name="shapes")),
        *normalised(layers.Conv2D(48, 1, use_bias=False, name="parts")),
        layers.AveragePooling2D(2),
        layers.Reshape((192,)),
        layers.Dropout(0.3),
        layers.Dense(10, name="digit"),
        layers.Softmax(),
    ])


def trained(images, labels):
    model = network()
    rng = np.random.default_rng(SEED)
    steps = EPOCHS * (len(images) // BATCH)
    rate = tf.keras.optimizers.schedules.CosineDecay(3e-3, steps)
    optimizer = tf.keras.optimizers.Adam(rate)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy()

    @tf.function
    def step(batch, wanted):
        with tf.GradientTape() as tape:
            loss = loss_of(wanted, model(batch, training=True))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

    for _ in range(EPOCHS):
        order = rng.permutation(len(images))
        seen = augmented(images[order], rng)
        for start in range(0, len(images) - BATCH + 1, BATCH):
            step(seen[start:start + BATCH], labels[order[start:start + BATCH]])
    return model


def quantised(model, images):
    function = tf.function(lambda image: model(image, training=False))
    concrete = function.get_concrete_function(tf.TensorSpec((1, 8, 8, 1), tf.float32, name="image"))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([image[None]] for image in images)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def outputs_tflm(flat, images):
    interpreter = micro.Interpreter.from_bytes(flat)
    result = []
    for image in images:
        interpreter.set_input(image[None], 0)
        interpreter.invoke()
        result.append(interpreter.get_output(0)[0])
    return np.array(result)


def outputs_litert(flat, images):
    interpreter = Interpreter(model_content=flat, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    result = []
    for image in images:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], image[None])
        interpreter.invoke()
        result.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0].copy())
    return np.array(result)


def main():
    tf.keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    data = load_digits()
    grey, labels = data.images.astype(np.uint8), data.target
    images = (grey / 16).astype(np.float32)[..., None]
    model = trained(images[:-HELD_OUT], labels[:-HELD_OUT])
    flat = quantised(model, images[:-HELD_OUT])

    details = Interpreter(model_content=flat).get_input_details()[0]
    scale, zero = details["quantization"]
    held = np.clip(np.round(images[-HELD_OUT:] / np.float32(scale)) + zero, -128, 127).astype(np.int8)
    wanted = labels[-HELD_OUT:]
    floats = np.concatenate([model(image[None], training=False) for image in images[-HELD_OUT:]])
    tflm, litert = outputs_tflm(flat, held), outputs_litert(flat, held)
    for name, result in (("float", floats), ("int8, TFLite Micro", tflm), ("int8, LiteRT's reference", litert)):
        right = int((result.argmax(1) == wanted).sum())
        print(f"{name}: {right} of {HELD_OUT} held-out digits right ({100 * right / HELD_OUT:.2f} %)")
    print(f"{len(flat)} bytes, {model.count_params()} parameters before folding")

    (HERE / "digits.tflite").write_bytes(flat)
    with open(HERE / "heldout.txt", "w", encoding="ascii", newline="\n") as file:
        file.write(HEADER)
        for label, image, first, second in zip(wanted, grey[-HELD_OUT:], tflm, litert):
            letters = "".join(chr(ord("a") + value) for value in image.reshape(-1))
            file.write(f"{label} {letters} {first.tobytes().hex()} {second.tobytes().hex()}\n")


if __name__ == "__main__":
    main()
