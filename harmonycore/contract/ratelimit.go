package contract

// The names that the proxy's rate limit filter and a rate limit service share. The proxy sends a request's reservation
// before it chooses a server, and its settlement when the stream has ended.
const (
	// LimitsDomain is the domain of all descriptors.
	LimitsDomain = "harmony"
	// LedgerHealth is the name by which gRPC's health service is asked whether the service's ledger answers.
	LedgerHealth = "ledger"
	// LimitsClient and LimitsModel are entries of both descriptors: the name of the client, and the name of the model.
	LimitsClient = "client"
	LimitsModel  = "model"
	// LimitsReservation is the entry of a reservation, LimitsSettlement the entry of its settlement. Both have the value
	// of [ReservationHeader]. The hits of the descriptor are the tokens.
	LimitsReservation = "reservation"
	LimitsSettlement  = "settle"
)
