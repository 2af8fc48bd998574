package client

import "github.com/realmgate/realmgate/internal/api"

// These are the control API's; see package api.
type (
	// Status is what the daemon knows of itself.
	Status = api.Status
	// Filter says which entries of a listing are wanted.
	Filter = api.Filter
	// Listing is what the gateway lists in rows of one type.
	Listing = api.Listing
	// Pact is what is agreed with another edge.
	Pact = api.Pact
	// Gauge is how full something is.
	Gauge = api.Gauge
	// Web counts connections to web addresses until they are sessions.
	Web = api.Web
	// DNS counts what a name server did.
	DNS = api.DNS
	// ReasonCount is how many packets ended with a reason.
	ReasonCount = api.ReasonCount
	// Interface is one of the gateway's.
	Interface = api.Interface
	// Session is a flow through the gateway.
	Session = api.Session
	// Binding is a service at an address of the pool.
	Binding = api.Binding
	// Host is a host inside.
	Host = api.Host
	// Service is names of a host, and the ports that they open.
	Service = api.Service
	// Ban is a remote address or prefix whose packets are dropped.
	Ban = api.Ban
	// BanRequest says what to ban, or to ban no more.
	BanRequest = api.BanRequest
	// BanChange says how many prefixes that were.
	BanChange = api.BanChange
	// ObserveRequest says which flows are wanted.
	ObserveRequest = api.ObserveRequest
	// Flow is what became of a flow.
	Flow = api.Flow
	// TraceRequest asks who had an endpoint outside at a time.
	TraceRequest = api.TraceRequest
	// Traced is who had it.
	Traced = api.Traced
	// TraceUser is who had an endpoint.
	TraceUser = api.TraceUser
	// Jail is a log that is watched.
	Jail = api.Jail
	// Sink is where events go.
	Sink = api.Sink
	// List is a list of addresses that somebody else publishes.
	List = api.List
	// ListRequest says which lists to fetch now.
	ListRequest = api.ListRequest
	// ListChange says how many lists that are.
	ListChange = api.ListChange
	// Config is the configuration in force.
	Config = api.Config
	// Unconfirmed is a reload that waits to be confirmed.
	Unconfirmed = api.Unconfirmed
	// Confirmed says what stays in force.
	Confirmed = api.Confirmed
	// HistoryEntry is a configuration that came into force.
	HistoryEntry = api.HistoryEntry
	// RolledBack says what came back.
	RolledBack = api.RolledBack
	// ConfigFile is one of its files.
	ConfigFile = api.ConfigFile
	// ConfigDiff is what would be another after a reload.
	ConfigDiff = api.ConfigDiff
	// Difference is a value that changes, or an entry that comes or goes.
	Difference = api.Difference
	// ServiceChange is what a name would open, or would not any more.
	ServiceChange = api.ServiceChange
	// Chain is a row of network functions for the flows that it matches.
	Chain = api.Chain
	// Function is a network function of a chain.
	Function = api.Function
	// Backend is a private endpoint that multipath sends flows to.
	Backend = api.Backend
	// ChainRequest says what to change in a chain.
	ChainRequest = api.ChainRequest
	// ChainChange is what a change put into force.
	ChainChange = api.ChainChange
	// ChainsSaved is which chains were written to the configuration file.
	ChainsSaved = api.ChainsSaved
	// ChangedChain is a chain that is not as the configuration file has it.
	ChangedChain = api.ChangedChain
	// ExplainRequest says which flow to explain.
	ExplainRequest = api.ExplainRequest
	// Explanation is what would decide about a new flow.
	Explanation = api.Explanation
	// ExplainStep is one of what is asked about a flow.
	ExplainStep = api.ExplainStep
	// ExplainService is a service, and what would become of a flow to it.
	ExplainService = api.ExplainService
	// Ending is how a new flow would end.
	Ending = api.Ending
	// Drop is a packet that was dropped.
	Drop = api.Drop
	// CaptureRequest says what to capture.
	CaptureRequest = api.CaptureRequest
	// Packet is a copy of a packet that a function of a chain told to take.
	Packet = api.Packet
	// Ended is how many sessions were ended.
	Ended = api.Ended
	// Handover is what a gateway that stops leaves at work.
	Handover = api.Handover
	// Role is what somebody may do.
	Role = api.Role
	// Token lets who has its secret ask over TCP.
	Token = api.Token
	// TokenRequest says which token to make.
	TokenRequest = api.TokenRequest
	// TokenMade is a token that was made, with its secret.
	TokenMade = api.TokenMade
	// Reload is what a reload put into force.
	Reload = api.Reload
	// Outbound is an outbound address.
	Outbound = api.Outbound
)

// How a configuration came into force: HistoryEntry.How.
const (
	HowConfirm     = api.HowConfirm
	HowRollback    = api.HowRollback
	HowUnconfirmed = api.HowUnconfirmed
	HowSave        = api.HowSave
)

// MostConfirm is how many seconds a reload may wait to be confirmed.
const MostConfirm = api.MostConfirm

// MostSnap is how much of a packet can be captured, in bytes.
const MostSnap = api.MostSnap

// Version returns which build this program is; Status.Version is the daemon's.
func Version() string { return api.Version() }

// Listings are those that have a command of their own.
func Listings() []Listing { return api.Listings() }

// Pacts lists what is agreed with other edges, in rows of Pact.
func Pacts() Listing { return api.Pacts }
