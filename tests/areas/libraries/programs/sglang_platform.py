"""SGLang: the platform that it selects."""

from sglang.srt.platforms import current_platform

print(type(current_platform).__name__, current_platform.device_type)
