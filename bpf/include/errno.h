/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs tell the daemon that they could not do, and helpers tell programs: negative, as the kernel does.
 * linux/errno.h would bring in more.
 */
#pragma once

#define EINVAL 22
#define ENOENT 2
#define EBUSY  16
#define EEXIST 17
#define ENOSPC 28
