"""torchmetrics: a collection of metrics on the device, moved, pickled, synchronised and reset."""

import json
import pickle
import sys

import torch
import torchmetrics

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
generator = torch.Generator().manual_seed(0)
metrics = torchmetrics.MetricCollection(
    {
        "accuracy": torchmetrics.Accuracy(task="multiclass", num_classes=4),
        "f1": torchmetrics.F1Score(task="multiclass", num_classes=4, average="macro"),
        "auroc": torchmetrics.AUROC(task="multiclass", num_classes=4),
        "confusion": torchmetrics.ConfusionMatrix(task="multiclass", num_classes=4),
        "calibration": torchmetrics.CalibrationError(task="multiclass", num_classes=4),
    }
).to(device)
regression = torchmetrics.MetricCollection(
    {"mse": torchmetrics.MeanSquaredError(), "r2": torchmetrics.R2Score(), "pearson": torchmetrics.PearsonCorrCoef()}
).to(device)
images = torchmetrics.image.StructuralSimilarityIndexMeasure(data_range=1.0).to(device)
for _ in range(3):
    probabilities = torch.rand(32, 4, generator=generator).softmax(1).to(device)
    labels = torch.randint(0, 4, (32,), generator=generator).to(device)
    metrics.update(probabilities, labels)
    regression.update(probabilities[:, 0], labels.float())
    images.update(probabilities.view(1, 1, 8, 16), probabilities.flip(0).view(1, 1, 8, 16))
again = pickle.loads(pickle.dumps(metrics))
computed, repeated = metrics.compute(), again.compute()
tensors = [*computed.values(), *repeated.values(), *regression.compute().values(), images.compute()]

print(
    json.dumps(
        {
            "devices": sorted({str(t.device) for t in tensors} | {str(metrics["accuracy"].device)}),
            "numbers": [t.tolist() for t in tensors],
            "same": {},
            "allocated": torch.cuda.max_memory_allocated() if device == "cuda" else 0,
        }
    )
)
