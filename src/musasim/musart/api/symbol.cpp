#include "../driver/symbol.h"
#include "../include/musasim/engine.h"
#include "gate.h"

namespace musart {
namespace {

musaError_t check_symbol(const void* symbol, size_t count, size_t offset) {
  if (const auto error = enter()) {
    return error;
  }
  const size_t room = room_in_symbol(symbol);
  if (room == 0) {
    return musaErrorInvalidSymbol;
  }
  return offset <= room && count <= room - offset ? musaSuccess : musaErrorInvalidValue;
}

} // namespace
} // namespace musart

using namespace musart;

void musasim_register_symbol(void* address, size_t bytes, const char*) {
  add_symbol(address, bytes);
}

musaError_t musaGetSymbolAddress(void** address, const void* symbol) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (address == nullptr || room_in_symbol(symbol) == 0) {
    return remember(musaErrorInvalidSymbol);
  }
  *address = const_cast<void*>(symbol);
  return musaSuccess;
}

musaError_t musaGetSymbolSize(size_t* bytes, const void* symbol) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const size_t room = room_in_symbol(symbol);
  if (bytes == nullptr || room == 0) {
    return remember(musaErrorInvalidSymbol);
  }
  *bytes = room;
  return musaSuccess;
}

musaError_t musaMemcpyToSymbol(const void* symbol, const void* from, size_t count, size_t offset, musaMemcpyKind kind) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpy(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, count, kind);
}

musaError_t musaMemcpyFromSymbol(void* to, const void* symbol, size_t count, size_t offset, musaMemcpyKind kind) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpy(to, static_cast<const char*>(symbol) + offset, count, kind);
}

musaError_t musaMemcpyToSymbolAsync(
    const void* symbol, const void* from, size_t count, size_t offset, musaMemcpyKind kind, musaStream_t stream) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpyAsync(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, count, kind, stream);
}

musaError_t musaMemcpyFromSymbolAsync(
    void* to, const void* symbol, size_t count, size_t offset, musaMemcpyKind kind, musaStream_t stream) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpyAsync(to, static_cast<const char*>(symbol) + offset, count, kind, stream);
}
