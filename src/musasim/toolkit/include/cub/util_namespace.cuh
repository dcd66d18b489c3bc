// The namespace of CUB, which a program can put into another one before it includes CUB's headers: CUB_WRAPPED_NAMESPACE names that,
// or CUB_NS_PREFIX and CUB_NS_POSTFIX open and close it, and CUB_NS_QUALIFIER is what to write before CUB's names.
#pragma once

#ifdef CUB_WRAPPED_NAMESPACE
#define CUB_NS_PREFIX namespace CUB_WRAPPED_NAMESPACE {
#define CUB_NS_POSTFIX }
#define CUB_NS_QUALIFIER ::CUB_WRAPPED_NAMESPACE::cub
#endif

#ifndef CUB_NS_PREFIX
#define CUB_NS_PREFIX
#endif
#ifndef CUB_NS_POSTFIX
#define CUB_NS_POSTFIX
#endif
#ifndef CUB_NS_QUALIFIER
#define CUB_NS_QUALIFIER ::cub
#endif

#define CUB_NAMESPACE_BEGIN CUB_NS_PREFIX namespace cub {
#define CUB_NAMESPACE_END } CUB_NS_POSTFIX
