/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads DNS questions (RFC 1035, RFC 6891, RFC 7873) as internal/nameserver does: what is read here is what that takes
 * for a question without a fault, of class IN, with at most an OPT record behind it. All else is left to it.
 */
#pragma once

#include <bpf/bpf_endian.h>
#include <stdbool.h>

#include "../include/ctx.h"
#include "../include/maps.h"
#include "../include/siphash.h"

#define QUESTION_HEADER	 12
#define QUESTION_NAME	 255 /* octets of a name, RFC 1035 section 2.3.4 */
#define QUESTION_LABELS	 128
#define QUESTION_OPTIONS 16
#define QUESTION_OPT	 11 /* octets of an OPT record without options */

#define DNS_TYPE_A	  1
#define DNS_TYPE_AAAA	  28
#define DNS_TYPE_OPT	  41
#define DNS_TYPE_HTTPS	  65
#define DNS_CLASS_IN	  1
#define DNS_FLAG_QR	  0x8000
#define DNS_FLAG_OPCODE	  0x7800
#define DNS_FLAG_AA	  0x0400
#define DNS_FLAG_TC	  0x0200
#define DNS_FLAG_RD	  0x0100
#define DNS_FLAG_CD	  0x0010
#define DNS_OPTION_SUBNET 8
#define DNS_OPTION_COOKIE 10

static __always_inline struct question *question_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&questions, &zero);
}

static __always_inline __u8 question_octet(const struct question *q, __u32 at)
{
	return q->octet[at & 511];
}

static __always_inline __u16 question_u16(const struct question *q, __u32 at)
{
	return question_octet(q, at) << 8 | question_octet(q, at + 1);
}

static __always_inline __u64 question_u64(const struct question *q, __u32 at)
{
	__u64 word;

	__builtin_memcpy(&word, &q->octet[at & 511], sizeof(word));
	return word;
}

/* The offset behind the question's name; 0 for one that cannot be, or is compressed. */
__noinline __u32 question_name_end(struct question *q)
{
	__u32 at = QUESTION_HEADER;

	if (!q)
		return 0;
	for (int i = 0; i < QUESTION_LABELS; i++) {
		__u8 length = question_octet(q, at);

		if (!length)
			return at + 1;
		at += 1 + length;
		if (length > 63 || at > QUESTION_HEADER + QUESTION_NAME - 1 || at >= q->length)
			return 0;
	}
	return 0;
}

/* False where a cookie has a length that cannot be (RFC 7873 section 5.2.2), or there are two. */
static __always_inline bool question_cookie(struct question *q, __u32 at, __u16 length)
{
	if (q->cookie || length < 8 || length > 40 || (length > 8 && length < 16))
		return false;
	q->cookie = true;
	q->whole = length == 24;
	q->client = question_u64(q, at);
	q->head = question_u64(q, at + 8);
	q->hash = question_u64(q, at + 16);
	return true;
}

/* Options in any order; false where they do not fill their room, or are very many. */
__noinline bool question_options(struct question *q)
{
	__u32 at;

	if (!q)
		return false;
	at = q->end + QUESTION_OPT;
	for (int i = 0; i < QUESTION_OPTIONS; i++) {
		__u16 code, length;

		if (at == q->length)
			return true;
		if (at > QUESTION_MOST || at + 4 > q->length)
			return false;
		code = question_u16(q, at);
		length = question_u16(q, at + 2);
		at += 4;
		if (at + length > q->length)
			return false;
		if (code == DNS_OPTION_SUBNET)
			q->subnet = true;
		if (code == DNS_OPTION_COOKIE && !question_cookie(q, at, length))
			return false;
		at += length;
	}
	return at == q->length;
}

/* The OPT record that ends the message (RFC 6891 section 6.1); false for another record, or an EDNS that we do not speak. */
static __always_inline bool question_edns(struct question *q)
{
	__u32 at = q->end;

	if (at + QUESTION_OPT > q->length || question_octet(q, at) || question_u16(q, at + 1) != DNS_TYPE_OPT ||
	    question_octet(q, at + 6) || at + QUESTION_OPT + question_u16(q, at + 9) != q->length)
		return false;
	q->edns = true;
	q->dnssec_ok = question_octet(q, at + 7) & 0x80;
	return question_options(q);
}

/* Types that ask for an operation, TKEY to MAILA (RFC 6895 section 3.1). */
static __always_inline bool question_is_operation(__u16 type)
{
	return type >= 249 && type <= 254;
}

/* Whether the message, which is in q->octet, is a question that can be answered here. */
__noinline bool question_read(struct question *q)
{
	if (!q || q->length < QUESTION_HEADER || q->length > QUESTION_MOST)
		return false;
	q->edns = q->dnssec_ok = q->subnet = q->cookie = q->whole = 0;
	if ((question_u16(q, 2) & (DNS_FLAG_QR | DNS_FLAG_OPCODE)) || question_u16(q, 4) != 1 || question_u16(q, 6) ||
	    question_u16(q, 8) || question_u16(q, 10) > 1)
		return false;
	q->end = question_name_end(q);
	if (!q->end || q->end + 4 > q->length)
		return false;
	q->type = question_u16(q, q->end);
	if (question_u16(q, q->end + 2) != DNS_CLASS_IN || q->type == DNS_TYPE_OPT || question_is_operation(q->type))
		return false;
	q->end += 4;
	return question_u16(q, 10) ? question_edns(q) : q->end == q->length;
}

/* The letters of eight octets in lower case (0x20). The lengths of labels are below all letters. */
static __always_inline __u64 question_lower(__u64 word)
{
	const __u64 ones = 0x0101010101010101ULL;
	__u64 low = word & 0x7f * ones;
	__u64 from_a = low + (0x80 - 'A') * ones, beyond_z = low + (0x7f - 'Z') * ones;

	return word | (((from_a ^ beyond_z) & ~word & 0x80 * ones) >> 2);
}

/* By which lent_names has the name: hashed in lower case under the tables' own secret. */
__noinline __u64 question_name_hash(struct question *q)
{
	__u64 key[2] = {fixed.seed[0], fixed.seed[1]}, last;
	struct siphash hash = siphash_begin(key);
	__u32 length, left;
	int i;

	if (!q)
		return 0;
	length = q->end - 4 - QUESTION_HEADER;
	left = length;
	for (i = 0; i < QUESTION_NAME / 8; i++) {
		if (left < 8)
			break;
		siphash_word(&hash, question_lower(question_u64(q, QUESTION_HEADER + 8 * i)));
		left -= 8;
	}
	last = question_lower(question_u64(q, QUESTION_HEADER + 8 * i));
	last &= (1ULL << 8 * (left & 7)) - 1;
	return siphash_end(&hash, last | (__u64)length << 56);
}
