"""The toy's descriptor."""

from torchada.backends.descriptor import Backend

TOY = Backend(
    name="toy",
    device_type="toy",
    adapter="torch_toy",
    namespace="toy",
    visible_devices="TOY_VISIBLE_DEVICES",
)
