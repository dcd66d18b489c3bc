"""gpytorch: a regression, and NNUtil, which chooses its library for nearest neighbours by the type of the device."""

import json
import sys

import gpytorch
import torch
from gpytorch.utils.nearest_neighbors import NNUtil

device = torch.device(sys.argv[1] if len(sys.argv) > 1 else "cuda")
torch.manual_seed(0)
x = torch.linspace(0, 1, 64, device=device)
y = torch.sin(x * 6) + torch.linspace(-0.1, 0.1, 64, device=device)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
model = Model(x, y, likelihood).to(device)
objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = -objective(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
neighbors = NNUtil(k=3, dim=2, preferred_nnlib="sklearn", device=device)
points = torch.rand(32, 2, generator=torch.Generator().manual_seed(1)).to(device)
neighbors.set_nn_idx(points)
found = neighbors.find_nn_idx(points[:4] + 0.01)

print(
    json.dumps(
        {
            "devices": sorted({str(found.device), str(next(model.parameters()).device)}),
            "numbers": losses,
            "same": {"neighbors": found.tolist()},
            "took": {},
            "allocated": torch.cuda.max_memory_allocated() if device.type == "cuda" else 0,
        }
    )
)
