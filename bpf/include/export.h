/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types that Go needs and no map names: a mention keeps them in the object's type information.
 */
#pragma once

#include "ctx.h"
#include "maps.h"

struct exported {
	enum reason reason;
	enum phase phase;
	enum origin origin;
	enum tcp_state tcp_state;
	enum side side;
	enum statistic statistic;
	enum address_kind address_kind;
	enum sweep_table sweep_table;
	enum record_bucket record_bucket;
	enum mss mss;
	enum claims_state claims_state;
	enum program program;
	enum redirect redirect;
	enum carrier carrier;
	enum banning banning;
	enum lent_type lent_type;
	enum web_event_kind web_event_kind;
	enum web_promise web_promise;
	struct claims claims;
	struct known_life known_life;
	struct binding_request binding_request;
	struct pact_request pact_request;
	struct link_request link_request;
	enum pact_flag pact_flag;
	enum link_state link_state;
	struct endpoint endpoint;
	struct claim_event claim_event;
	struct drop_event drop_event;
	struct flow_event flow_event;
	enum told told;
	enum watch watch;
	struct honeypot_event honeypot_event;
	struct web_event web_event;
	struct count_request count_request;
	struct sweep_request sweep_request;
	struct capture_record capture_record;
	struct replay replay;
	enum replay_mark replay_mark;
};

const struct exported *exported __attribute__((unused));
