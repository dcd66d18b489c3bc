"""`springs.py FILE COUNT`: molecules of three atoms with springs between them, their energies and forces, as extended XYZ."""

import random
import sys

RESTS = {(0, 1): 0.96, (0, 2): 0.96, (1, 2): 1.52}
STIFFNESS = 8.0


def energy_and_forces(places):
    energy, forces = 0.0, [[0.0] * 3 for _ in places]
    for (a, b), rest in RESTS.items():
        apart = [x - y for x, y in zip(places[a], places[b], strict=True)]
        length = sum(x * x for x in apart) ** 0.5
        energy += STIFFNESS / 2 * (length - rest) ** 2
        for axis, x in enumerate(apart):
            force = STIFFNESS * (length - rest) * x / length
            forces[a][axis] -= force
            forces[b][axis] += force
    return energy, forces


def molecule(numbers):
    water = [(0.0, 0.0, 0.0), (0.96, 0.0, 0.0), (-0.24, 0.93, 0.0)]
    places = [[x + numbers.gauss(0, 0.05) for x in atom] for atom in water]
    energy, forces = energy_and_forces(places)
    rows = [
        f"{kind} " + " ".join(f"{x:.10f}" for x in (*place, *force))
        for kind, place, force in zip("OHH", places, forces, strict=True)
    ]
    head = f'Properties=species:S:1:pos:R:3:REF_forces:R:3 REF_energy={energy:.10f} pbc="F F F"'
    return "\n".join(["3", head, *rows])


if __name__ == "__main__":
    numbers = random.Random(0)
    with open(sys.argv[1], "w") as file:
        file.write("\n".join(molecule(numbers) for _ in range(int(sys.argv[2]))) + "\n")
