package managers

// Mark says what a manager does to its table when it sends a job over a link.
type Mark string

// The ways to mark.
const (
	MarkNone Mark = "none" // nothing: the whole queue follows one free row
	MarkTake Mark = "take" // the amount chosen goes, what the job leaves of it comes
	MarkAck  Mark = "ack"  // and is done again to every change that has not seen the job; every request is answered
)

// Rules are the choices of a tree. All of its managers should have the same.
type Rules struct {
	Strict        bool  // nobody passes a job that fits nowhere; else every job that fits goes
	Worst         bool  // the largest amount that fits instead of the smallest
	Mark          Mark  // "" is MarkAck
	RequestsFirst bool  // requests leave before changes
	NoReturn      bool  // a job goes back over a link only after a change came from there
	MaxHops       int   // a job that has gone so far is placed, or stays; 0: no bound, with Pool 100
	StayAtBound   bool  // it stays, even at a domain: to reproduce results
	Interval      int64 // least time between two changes on a link
	Refresh       int64 // a full description goes out so often; 0: never
	Keep          int   // only so many of the largest amounts are told; 0: all
	Coarse        bool  // of amounts of nearly as many processors only the largest is told
	MaxAge        int64 // a job that waits longer has a system drained for it; 0: never
	AnswersOnly   bool  // changes go out as answers only: the centre of a dispatcher
	Pool          bool  // a system's jobs that find no room there wait at the domain above, and it is told nothing
	Silent        bool  // a request is not answered where the sender's own mark says already what is left
	Alongside     bool  // a request carries the change that is due on its link
	Paced         bool  // a neighbour that is behind with its messages is told changes less often
	Calm          bool  // a change that tells of no more room than before waits for four intervals
	ForwardAll    bool  // jobs of this manager's own brokers go to the parent at once
}

// Serving returns the rules of managers that serve: the protocol that needs fewer messages.
func Serving() Rules {
	return Rules{Pool: true, Silent: true, Alongside: true, Paced: true, Calm: true, Coarse: true, MaxHops: pooledHops}
}
