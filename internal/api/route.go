package api

import (
	"net/http"
	"net/url"
	"slices"
)

// Route is one kind of request.
type Route struct {
	Method string
	Path   string
	Role   Role   // the least that it takes
	Short  string // what it does
	Takes  []Parameter
	Body   any // a zero value; nil: it has none
	Answer any // a zero value; of Rows and Live that of a row
	Form   Form
	serve  endpoint
}

// Form is how an answer is written.
type Form uint8

// The forms.
const (
	Value  Form = iota // one JSON value
	Rows               // a page of rows, or all of them in lines
	Live               // a row in each line, without an end
	Events             // server-sent events
	Text               // for people, and for programs that look at the status alone
)

// Parameter is one of a query.
type Parameter struct {
	Name     string
	Short    string
	Integer  bool
	Required bool
	Values   []string // that it may have; nil: any
}

// endpoint answers one kind of request. An error that it returns has sent nothing yet.
type endpoint func(handler, http.ResponseWriter, *http.Request, url.Values) error

func (r Route) pattern() string { return r.Method + " " + r.Path }

// Routes are all of them.
func Routes() []Route {
	routes := []Route{
		get("/v1/status", Read, "How the gateway is.", Status{}, handler.status),
		get("/v1/caller", Read, "Who asks, and with which role.", Asking{}, handler.caller),
		get("/v1/explain", Operate, "What would decide about a new flow; it changes nothing.", Explanation{}, handler.explain, explainParameters()...),

		get("/v1/trace", Operate, "Who had an endpoint outside at a time, as the NAT log has it. Refused for an outbound address and a protocol without ports.", Traced{}, handler.trace, traceParameters()...),

		rows("/v1/sessions", "The sessions through the gateway.", Session{}, handler.sessions, filterParameters()...),
		get("/v1/sessions/summary", Read, "How many sessions there are of each kind, the largest first.", Summary{}, handler.summary,
			append(summaryParameters(), filterParameters()...)...),
		rows("/v1/pool", "Which service has which address of the pool.", Binding{}, filtered(Gateway.Pool, "address", "service"), filterParameters()...),
		get("/v1/pool/map", Read, "What each address of the pool is used for.", PoolMap{}, handler.poolMap),
		rows("/v1/hosts", "The hosts inside, and what of them is open.", Host{}, filtered(hosts, "name"), filterParameters()...),
		rows("/v1/chains", "The chains in force, in the order in which they are sought.", Chain{}, configured(Gateway.Chains, "name")),
		get("/v1/config", Admin, "The configuration in force, with its secrets.", Config{}, handler.config,
			Parameter{Name: "number", Short: "Instead of what is in force, that entry of the history.", Integer: true}),
		rows("/v1/config/history", "The configurations that came into force, the latest last.", HistoryEntry{}, configured(Gateway.ConfigHistory, "number")),
		get("/v1/config/diff", Admin, "What a reload would change.", ConfigDiff{}, doing(configDiff)),
		rows("/v1/bans", "The bans in force.", Ban{}, all(Gateway.Bans, "prefix")),
		rows("/v1/jails", "The logs that are watched.", Jail{}, configured(Gateway.Jails, "name")),
		rows("/v1/events", "The sinks of events.", Sink{}, configured(Gateway.Events, "name")),
		get("/v1/events/last", Read, "What happened lately, the last first.", LastEvents{}, handler.lastEvents),
		rows("/v1/lists", "The lists of addresses that are fetched.", List{}, configured(Gateway.Lists, "name")),
		rows("/v1/tokens", "The tokens by which one may ask over TCP, without their secrets.", Token{}, all(Gateway.Tokens, "name")).by(Admin),

		live("/v1/drops", Operate, "A sample of the packets that are dropped, as it happens.", Drop{}, handler.drops, filterParameters()...),
		live("/v1/observe", Operate, "Flows: the youngest that are open, and what becomes of all as it happens.", Flow{}, handler.observe, observeParameters...),
		live("/v1/capture", Admin, "Copies of the packets that functions of a chain take, as they come.", Packet{}, handler.capture, captureParameters()...),
		live("/v1/capture/drops", Admin, "A sample of the packets that are dropped, of each the beginning, as they come.", Packet{}, handler.captureDrops),

		get("/v1/stream", Read, "What happens, by topics, as it happens: server-sent events.", nil, handler.stream, streamParameters()...).as(Events),

		post("/v1/reload", Operate, "Read the configuration file again and put it into force whole.", nil, Reload{}, handler.reload,
			Parameter{Name: "confirm", Short: "Undo it after so many seconds unless it is confirmed.", Integer: true}),
		post("/v1/reload/confirm", Operate, "Keep what a reload put into force that is to be confirmed.", nil, Confirmed{}, doing(Gateway.Confirm)),
		post("/v1/config/rollback", Admin, "Write an earlier configuration to the file and put it into force.", RollbackRequest{}, RolledBack{}, handler.rollback),
		post("/v1/handover", Admin, "Have the version that is installed now take over, with all sessions.", nil, Handover{}, doing(handover)),
		post("/v1/bans/add", Operate, "Ban prefixes: all of them or, with an error, none.", BanRequest{}, BanChange{}, changing(validBan, Gateway.AddBans)),
		post("/v1/bans/remove", Operate, "End bans.", BanRequest{}, BanChange{}, changing(validBan, Gateway.RemoveBans)),
		post("/v1/lists/refresh", Operate, "Fetch lists now.", ListRequest{}, ListChange{}, changing(validLists, Gateway.RefreshLists)),
		post("/v1/sessions/end", Operate, "End at once the sessions that the filter lets through.", nil, Ended{}, handler.endSessions, filterParameters()...),
		post("/v1/chains/insert", Admin, "Put a function into a chain until the next reload.", ChainRequest{}, ChainChange{}, changingChain(validPlace, Gateway.InsertFunction)),
		post("/v1/chains/remove", Admin, "Take a function out of a chain until the next reload.", ChainRequest{}, ChainChange{}, changingChain(validRemoval, Gateway.RemoveFunction)),
		post("/v1/chains/move", Admin, "Put a function of a chain to another place until the next reload.", ChainRequest{}, ChainChange{}, changingChain(validMove, Gateway.MoveFunction)),
		post("/v1/tokens/create", Admin, "Make a token; its secret is told once.", TokenRequest{}, TokenMade{}, changing(validToken, Gateway.CreateToken)),
		post("/v1/tokens/revoke", Admin, "End a token, and what is asked by it at the time.", TokenName{}, Token{}, changing(validTokenName, Gateway.RevokeToken)),
		post("/v1/chains/save", Admin, "Write the chains that were changed to the configuration file.", nil, ChainsSaved{}, doing(Gateway.SaveChains)),

		text("/metrics", Read, "What Prometheus reads.", handler.metrics),
		text("/v1/goroutines", Admin, "What each goroutine of the daemon does, for reports of faults.", handler.goroutines),
		text("/v1/openapi.json", Read, "What requests there are: OpenAPI 3.1.", handler.openAPI),
		text("/healthz", NoRole, "The daemon answers.", handler.healthz),
		text("/readyz", NoRole, "The gateway serves packets and names; else the status is 503.", handler.readyz),
	}
	for _, l := range Listings() {
		routes = append(routes, rows("/v1/"+l.Name, l.Short+".", l.Row, listing(l), filterParameters()...))
	}
	return routes
}

func get(path string, role Role, short string, answer any, serve endpoint, takes ...Parameter) Route {
	return Route{Method: http.MethodGet, Path: path, Role: role, Short: short, Takes: takes, Answer: answer, serve: serve}
}

func rows(path, short string, row any, serve endpoint, takes ...Parameter) Route {
	return get(path, Read, short, row, serve, slices.Concat(takes, pageParameters())...).as(Rows)
}

// by takes another role.
func (r Route) by(role Role) Route {
	r.Role = role
	return r
}

// as has another form.
func (r Route) as(form Form) Route {
	r.Form = form
	return r
}

func live(path string, role Role, short string, row any, serve endpoint, takes ...Parameter) Route {
	return get(path, role, short, row, serve, takes...).as(Live)
}

func text(path string, role Role, short string, serve endpoint) Route {
	return get(path, role, short, nil, serve).as(Text)
}

func post(path string, role Role, short string, body, answer any, serve endpoint, takes ...Parameter) Route {
	return Route{Method: http.MethodPost, Path: path, Role: role, Short: short, Takes: takes, Body: body, Answer: answer, serve: serve}
}
