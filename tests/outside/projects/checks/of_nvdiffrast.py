"""nvdiffrast: rasterizing, interpolating, texturing and antialiasing, against plain formulas for each pixel, and gradients.

Its kernels add gradients up in a float that the threads of a warp share, and take it for granted that these run in step:
nothing synchronizes them. Gradients are therefore compared where no two threads of a warp meet ("small triangles", "a texel for
each pixel"), and where they do.
"""

from __future__ import annotations

import nvdiffrast.torch as dr
import torch

from report import Report

HEIGHT, WIDTH = 48, 64


def triangles(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Vertices in clip space, each with a w of its own, and three for each triangle."""
    generator = torch.Generator().manual_seed(0)
    places = torch.rand(count * 3, 3, generator=generator) * 1.8 - 0.9
    w = torch.rand(count * 3, 1, generator=generator) + 0.5
    return torch.cat([places * w, w], -1), torch.arange(count * 3, dtype=torch.int32).view(count, 3)


def rasterized(vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    """(u, v, z/w, triangle + 1) for the centre of each pixel, by the homogeneous edge functions; the nearest triangle is seen."""
    y, x = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
    at = torch.stack([(x + 0.5) * 2 / WIDTH - 1, (y + 0.5) * 2 / HEIGHT - 1, torch.ones_like(x)], -1).to(vertices.dtype)
    nearest, result = torch.full((HEIGHT, WIDTH), float("inf"), dtype=vertices.dtype), torch.zeros(HEIGHT, WIDTH, 4)
    result = result.to(vertices.dtype)
    for number, corners in enumerate(vertices[faces.long()]):
        weights = at @ torch.linalg.inv(corners[:, [0, 1, 3]])
        weights = weights / weights.sum(-1, keepdim=True)
        clip = weights @ corners
        depth = clip[..., 2] / clip[..., 3]
        seen = (weights > 0).all(-1) & (depth < nearest) & (depth.abs() < 1)
        values = torch.stack([weights[..., 0], weights[..., 1], depth, torch.full_like(depth, number + 1)], -1)
        nearest = torch.where(seen, depth, nearest)
        result = torch.where(seen[..., None], values, result)
    return result


def small_triangles() -> tuple[torch.Tensor, torch.Tensor]:
    """One around a pixel's centre in each square of eight by eight, which covers no other centre."""
    rows, columns = torch.meshgrid(torch.arange(4, HEIGHT, 8), torch.arange(4, WIDTH, 8), indexing="ij")
    centres = torch.stack([columns, rows], -1).view(-1, 1, 2) + 0.5
    angles = torch.tensor([0.2, 2.4, 4.3])
    corners = centres + 0.9 * torch.stack([angles.cos(), angles.sin()], -1)
    screen = (corners / torch.tensor([WIDTH, HEIGHT]) * 2 - 1).view(-1, 2)
    w = torch.rand(len(screen), 1, generator=torch.Generator().manual_seed(3)) + 0.5
    vertices = torch.cat([screen * w, 0.1 * w, w], -1)
    return vertices, torch.arange(len(vertices), dtype=torch.int32).view(-1, 3)


def bilinear(texture: torch.Tensor, uv: torch.Tensor) -> torch.Tensor:
    """A texture repeated in both directions, between its four nearest texels."""
    height, width = texture.shape[:2]
    place = uv * torch.tensor([width, height], dtype=uv.dtype) - 0.5
    low, share = place.floor().long(), place - place.floor()
    total = torch.zeros(())
    for dy in (0, 1):
        for dx in (0, 1):
            weight = (share[..., 0] if dx else 1 - share[..., 0]) * (share[..., 1] if dy else 1 - share[..., 1])
            total = total + weight[..., None] * texture[(low[..., 1] + dy) % height, (low[..., 0] + dx) % width]
    return total


def compare_gradients(
    name: str, found: torch.Tensor, wanted: torch.Tensor, pairs: dict[str, tuple[torch.Tensor, torch.Tensor]]
) -> None:
    """Of one sum, with a weight for each number."""
    weight = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1), dtype=wanted.dtype)
    (found * weight.float().cuda()).sum().backward()
    (wanted * weight).sum().backward()
    for what, (mine, theirs) in pairs.items():
        assert mine.grad is not None and theirs.grad is not None
        # By the largest: a gradient is a sum, most of which may cancel out.
        scale = float(theirs.grad.abs().max())
        report.agree(
            f"{name}, gradient by {what}", mine.grad.view_as(theirs.grad) / scale, theirs.grad / scale, atol=1e-3
        )


report = Report()
context = dr.RasterizeCudaContext()
scenes = {f"{count} triangles": triangles(count) for count in (1, 5, 40)} | {"small triangles": small_triangles()}
for scene, (vertices, faces) in scenes.items():
    exact = vertices.double().requires_grad_()
    mine = vertices.cuda()[None].requires_grad_()
    wanted = rasterized(exact, faces)
    found, _ = dr.rasterize(context, mine, faces.cuda(), (HEIGHT, WIDTH))
    # A pixel whose centre is next to an edge may belong to either side: vertices are snapped to sixteenths of a pixel.
    same = found[0, ..., 3].detach().cpu() == wanted[..., 3]
    report.agree(f"{scene}, covered", (same.double().mean() > 0.99).float(), torch.ones(()))
    report.agree(scene, found[0].detach().cpu()[same], wanted[same], rtol=1e-3, atol=1e-3)

    kept = same[..., None].double()
    with_gradients = scene in ("40 triangles", "small triangles")
    if with_gradients:
        plain, given = (wanted * kept)[..., :2], (found[0] * kept.float().cuda())[..., :2]
        compare_gradients(scene, given, plain, {"vertices": (mine, exact)})

    attributes = torch.randn(len(vertices), 5, generator=torch.Generator().manual_seed(2))
    theirs, ours = attributes.double().requires_grad_(), attributes.cuda()[None].requires_grad_()
    seen = found.detach()
    values = dr.interpolate(ours, seen, faces.cuda())[0]
    u, v, _, number = seen[0].cpu().double().unbind(-1)
    corners = theirs[faces.long()][(number.long() - 1).clamp(min=0)]
    plain = (
        u[..., None] * corners[..., 0, :]
        + v[..., None] * corners[..., 1, :]
        + (1 - u - v)[..., None] * corners[..., 2, :]
    )
    plain = plain * (number > 0)[..., None]
    report.agree(f"{scene}, attributes", values[0], plain)
    if with_gradients:
        compare_gradients(f"{scene}, attributes", values[0], plain, {"attributes": (ours, theirs)})

texture, uv = torch.rand(16, 8, 3), torch.rand(HEIGHT, WIDTH, 2) * 3 - 1
mine, theirs = texture.cuda()[None].requires_grad_(), texture.double().requires_grad_()
place, plain_place = uv.cuda()[None].requires_grad_(), uv.double().requires_grad_()
found, wanted = dr.texture(mine, place, filter_mode="linear"), bilinear(theirs, plain_place)
report.agree("texture", found[0], wanted)
compare_gradients("texture", found[0], wanted, {"texels": (mine, theirs), "places": (place, plain_place)})
many = torch.rand(HEIGHT, WIDTH, 3)
y, x = torch.meshgrid(torch.arange(HEIGHT), torch.arange(WIDTH), indexing="ij")
own = torch.stack([(x + 0.8) / WIDTH, (y + 0.7) / HEIGHT], -1)
mine, theirs = many.cuda()[None].requires_grad_(), many.double().requires_grad_()
place, plain_place = own.cuda()[None].requires_grad_(), own.double().requires_grad_()
found, wanted = dr.texture(mine, place, filter_mode="linear"), bilinear(theirs, plain_place)
report.agree("a texel for each pixel", found[0], wanted)
compare_gradients(
    "a texel for each pixel", found[0], wanted, {"texels": (mine, theirs), "places": (place, plain_place)}
)
mips = dr.texture(texture.cuda()[None], uv.cuda()[None], uv_da=torch.zeros(1, HEIGHT, WIDTH, 4).cuda(), max_mip_level=3)
report.agree("texture with mip maps, at the finest", mips[0], bilinear(texture, uv))
coarse = torch.tensor([100.0, 0, 0, 100.0]).expand(1, HEIGHT, WIDTH, 4).contiguous().cuda()
mips = dr.texture(texture.cuda()[None], uv.cuda()[None], uv_da=coarse, max_mip_level=3)
halved = texture.view(2, 8, 1, 8, 3).mean((1, 3))
report.agree("texture with mip maps, at the coarsest", mips[0], bilinear(halved, uv))

# Antialiasing moves colour across silhouettes only: a full screen stays as it is, and a moving edge has a gradient.
vertices, faces = triangles(1)
position = vertices.cuda()[None].requires_grad_()
seen, _ = dr.rasterize(context, position, faces.cuda(), (HEIGHT, WIDTH))
image = (seen[..., 3:] > 0).float().expand(-1, -1, -1, 3).contiguous()
smooth = dr.antialias(image, seen, position, faces.cuda())
moved = (smooth - image).abs().sum(-1)[0].cpu() > 0
inside = image[0, ..., 0].cpu()
padded = torch.nn.functional.pad(inside[None, None], (1, 1, 1, 1), mode="replicate")
border = torch.nn.functional.max_pool2d(padded, 3, 1)[0, 0] != -torch.nn.functional.max_pool2d(-padded, 3, 1)[0, 0]
report.agree("antialiasing leaves what is not at an edge", (moved & ~border).float(), torch.zeros(HEIGHT, WIDTH))
area = inside.mean()
x, y = (vertices[:, 0] / vertices[:, 3]).double(), (vertices[:, 1] / vertices[:, 3]).double()
exact_area = ((x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0])).abs() / 8
report.agree("antialiased area is the triangle's", smooth[..., 0].mean(), exact_area, rtol=0, atol=2e-3)
smooth[..., 0].mean().backward()
places = torch.stack([x, y], -1).requires_grad_()
a, b, c = places
plain_area = ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])).abs() / 8
plain_area.backward()
assert position.grad is not None and places.grad is not None
by_screen = position.grad[0, :, :2].cpu().double() * vertices[:, 3:].double()
report.agree("gradient of the antialiased area", by_screen, places.grad, rtol=0.1, atol=0.02)
report.end()
