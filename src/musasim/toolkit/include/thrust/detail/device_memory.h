// Pointers into device memory that the host may dereference: each access is a copy.
#pragma once

#include <cstddef>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "musa_runtime.h"
#include "musasim/device_functions.h"

namespace thrust {

class system_error : public std::runtime_error {
 public:
  system_error(musaError_t error, const char* what) : std::runtime_error(std::string(what) + ": " + musaGetErrorString(error)) {}
};

namespace detail {

inline void require(musaError_t error, const char* what) {
  if (error == musaErrorMemoryAllocation) throw std::bad_alloc();
  if (error != musaSuccess) throw system_error(error, what);
}

inline void copy_bytes(void* to, const void* from, std::size_t bytes, musaMemcpyKind kind) {
  if (bytes != 0) require(musaMemcpy(to, from, bytes, kind), "thrust: copying memory");
}

}  // namespace detail

template <class T>
class device_ptr;

// An element of device memory.
template <class T>
class device_reference {
 public:
  using value_type = std::remove_cv_t<T>;

  explicit device_reference(T* address) : address_(address) {}
  device_reference(const device_reference&) = default;
  operator value_type() const {
    if (musasim_on_device()) return *address_;
    value_type value;
    detail::copy_bytes(&value, address_, sizeof(T), musaMemcpyDeviceToHost);
    return value;
  }
  device_reference& operator=(const value_type& value) {
    if (musasim_on_device()) {
      *address_ = value;
    } else {
      detail::copy_bytes(address_, &value, sizeof(T), musaMemcpyHostToDevice);
    }
    return *this;
  }
  device_reference& operator=(const device_reference& other) { return *this = static_cast<value_type>(other); }
  device_reference& operator+=(const value_type& value) { return *this = static_cast<value_type>(*this) + value; }
  device_reference& operator-=(const value_type& value) { return *this = static_cast<value_type>(*this) - value; }
  device_ptr<T> operator&() const { return device_ptr<T>(address_); }

 private:
  T* address_;
};

template <class T>
class device_ptr {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = device_ptr;
  using reference = device_reference<T>;

  device_ptr() : address_(nullptr) {}
  device_ptr(std::nullptr_t) : address_(nullptr) {}
  explicit device_ptr(T* address) : address_(address) {}
  template <class U, class = std::enable_if_t<std::is_convertible<U*, T*>::value>>
  device_ptr(const device_ptr<U>& other) : address_(other.get()) {}

  T* get() const { return address_; }
  reference operator*() const { return reference(address_); }
  reference operator[](difference_type n) const { return reference(address_ + n); }
  explicit operator bool() const { return address_ != nullptr; }
  device_ptr operator+(difference_type n) const { return device_ptr(address_ + n); }
  device_ptr operator-(difference_type n) const { return device_ptr(address_ - n); }
  difference_type operator-(const device_ptr& other) const { return address_ - other.address_; }
  device_ptr& operator+=(difference_type n) { return address_ += n, *this; }
  device_ptr& operator-=(difference_type n) { return address_ -= n, *this; }
  device_ptr& operator++() { return ++address_, *this; }
  device_ptr& operator--() { return --address_, *this; }
  device_ptr operator++(int) { return device_ptr(address_++); }
  device_ptr operator--(int) { return device_ptr(address_--); }
  friend bool operator==(const device_ptr& a, const device_ptr& b) { return a.address_ == b.address_; }
  friend bool operator!=(const device_ptr& a, const device_ptr& b) { return a.address_ != b.address_; }
  friend bool operator<(const device_ptr& a, const device_ptr& b) { return a.address_ < b.address_; }

 private:
  T* address_;
};

template <class T>
device_ptr<T> device_pointer_cast(T* address) {
  return device_ptr<T>(address);
}
template <class T>
device_ptr<T> device_pointer_cast(const device_ptr<T>& pointer) {
  return pointer;
}
template <class T>
T* raw_pointer_cast(const device_ptr<T>& pointer) {
  return pointer.get();
}
template <class T>
T* raw_pointer_cast(T* pointer) {
  return pointer;
}

template <class T>
device_ptr<T> device_malloc(std::size_t count) {
  T* address = nullptr;
  detail::require(musaMalloc(reinterpret_cast<void**>(&address), count * sizeof(T)), "thrust::device_malloc");
  return device_ptr<T>(address);
}
template <class T>
void device_free(device_ptr<T> pointer) {
  detail::require(musaFree(pointer.get()), "thrust::device_free");
}

}  // namespace thrust
