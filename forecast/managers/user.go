package managers

// What users and the desk of a manager, which is the broker of their jobs, tell each other.

// UserJob is a job that a user hands in.
type UserJob struct {
	Key      string    `json:"key"` // its user's name for it
	Need     Resources `json:"need"`
	Priority int       `json:"priority,omitempty"`
	For      string    `json:"for,omitempty"` // the key of a job whose place was of no use: this one has its age
}

// UserState is how a job of a user is.
type UserState string

// The states.
const (
	UserWaits    UserState = "waits"    // in the tree
	UserAway     UserState = "away"     // nobody has asked for it for a while: it is offered to nobody
	UserAssigned UserState = "assigned" // it has a place, which is to be claimed
	UserClaimed  UserState = "claimed"  // by its user
	UserEnded    UserState = "ended"    // its user has ended it, or told its end
	UserGone     UserState = "gone"     // it was claimed, and nothing was heard of its user for longer than it may take
)

// UserTold is a job as its user is told of it.
type UserTold struct {
	Key       string    `json:"key"`
	State     UserState `json:"state,omitempty"`
	System    string    `json:"system,omitempty"` // whose place it has
	Manager   string    `json:"manager,omitempty"`
	Submitted int64     `json:"submitted,omitempty"` // ms
	ID        string    `json:"id,omitempty"`        // in the tree
	Error     string    `json:"error,omitempty"`     // why it was not taken
}

// UserNews tells a user which of his jobs have got a place since the mark that he named.
type UserNews struct {
	Mark int64    `json:"mark"` // to be named next
	Keys []string `json:"keys"`
}
