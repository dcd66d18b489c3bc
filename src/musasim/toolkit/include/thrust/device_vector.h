// thrust::device_vector and thrust::host_vector.
#pragma once

#include <vector>

#include "thrust/detail/algorithms.h"

namespace thrust {

template <class T, class Allocator = void>
class device_vector;

template <class T, class Allocator = std::allocator<T>>
class host_vector : public std::vector<T, Allocator> {
 public:
  using std::vector<T, Allocator>::vector;
  host_vector() = default;
  template <class Other>
  host_vector(const device_vector<T, Other>& other) : std::vector<T, Allocator>(other.size()) {
    thrust::copy(other.begin(), other.end(), this->begin());
  }
};

template <class T, class Allocator>
class device_vector {
  static_assert(std::is_trivially_copyable<T>::value, "device memory holds what may be copied byte by byte");

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = device_ptr<T>;
  using const_pointer = device_ptr<const T>;
  using reference = device_reference<T>;
  using iterator = device_ptr<T>;
  using const_iterator = device_ptr<const T>;

  device_vector() = default;
  explicit device_vector(size_type count, const T& value = T()) { resize(count, value); }
  template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
  device_vector(Iterator first, Iterator last) {
    assign(first, last);
  }
  device_vector(std::initializer_list<T> values) : device_vector(values.begin(), values.end()) {}
  device_vector(const device_vector& other) : device_vector(other.begin(), other.end()) {}
  device_vector(device_vector&& other) noexcept { swap(other); }
  template <class Other>
  device_vector(const std::vector<T, Other>& other) : device_vector(other.begin(), other.end()) {}
  ~device_vector() {
    if (data_ != nullptr) musaFree(data_);
  }
  device_vector& operator=(const device_vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  device_vector& operator=(device_vector&& other) noexcept {
    swap(other);
    return *this;
  }
  template <class Other>
  device_vector& operator=(const std::vector<T, Other>& other) {
    assign(other.begin(), other.end());
    return *this;
  }

  template <class Iterator, class = typename std::iterator_traits<Iterator>::iterator_category>
  void assign(Iterator first, Iterator last) {
    const auto count = static_cast<size_type>(last - first);
    make_room(count, false);
    size_ = count;
    thrust::copy(first, last, begin());
  }
  void assign(size_type count, const T& value) {
    clear();
    resize(count, value);
  }
  void resize(size_type count, const T& value = T()) {
    make_room(count, true);
    if (count > size_) thrust::fill_n(device, begin() + static_cast<std::ptrdiff_t>(size_), static_cast<std::ptrdiff_t>(count - size_), value);
    size_ = count;
  }
  void reserve(size_type count) { make_room(count, true); }
  void push_back(const T& value) {
    if (size_ == capacity_) make_room(size_ == 0 ? 1 : 2 * size_, true);
    ++size_;
    back() = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void shrink_to_fit() {
    device_vector exact(*this);
    swap(exact);
  }
  iterator erase(iterator first, iterator last) {
    const device_vector rest(last, end());
    thrust::copy(rest.begin(), rest.end(), first);
    size_ -= static_cast<size_type>(last - first);
    return first;
  }
  void swap(device_vector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  size_type size() const { return size_; }
  size_type capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  pointer data() { return pointer(data_); }
  const_pointer data() const { return const_pointer(data_); }
  iterator begin() { return iterator(data_); }
  iterator end() { return iterator(data_ + size_); }
  const_iterator begin() const { return const_iterator(data_); }
  const_iterator end() const { return const_iterator(data_ + size_); }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  reference operator[](size_type i) { return reference(data_ + i); }
  T operator[](size_type i) const { return device_reference<const T>(data_ + i); }
  reference front() { return (*this)[0]; }
  reference back() { return (*this)[size_ - 1]; }

 private:
  void make_room(size_type count, bool keeps) {
    if (count <= capacity_) return;
    T* const data = device_malloc<T>(count).get();
    if (keeps && size_ != 0) detail::copy_bytes(data, data_, size_ * sizeof(T), musaMemcpyDeviceToDevice);
    if (data_ != nullptr) musaFree(data_);
    data_ = data;
    capacity_ = count;
  }

  T* data_ = nullptr;
  size_type size_ = 0;
  size_type capacity_ = 0;
};

}  // namespace thrust
