package plugins

import (
	"context"
	"io"
	"time"

	"gridbroker/batch"
	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/rank"
)

// Submitter starts and follows jobs at one kind of back-end. Every method
// takes many jobs and may be called from several goroutines.
type Submitter interface {
	// Submit starts the jobs, input files included, and leaves what it is
	// given as it is: other requests may have the same Job. All requests are
	// for the same Endpoint.URL. It returns one Result per Request, in the same
	// order; it never leaves a job half-submitted without saying so: an
	// outcome that is not known is an *Error of kind Uncertain.
	// Progress may be nil.
	Submit(ctx context.Context, reqs []Request, p Progress) []Result
	// Status returns one Status per Handle, in the same order.
	Status(ctx context.Context, hs []Handle) []Status
	// Cancel ends jobs; ending an ended or unknown job is no error.
	Cancel(ctx context.Context, hs []Handle) []error
}

// Readier is a back-end that knows, without asking anybody there, what keeps it from sending.
type Readier interface {
	// Ready returns nil, or an *Error of kind Credential where the user has nothing that could be shown to the endpoint:
	// no credential at all, or one that has run out.
	Ready(ctx context.Context, endpoint glue.Endpoint) error
}

// Withdrawer ends jobs that have not begun, and no others: between a look and a
// cancellation a job may begin.
type Withdrawer interface {
	// Withdraw returns one error per Handle, in the same order; that a job has begun,
	// has ended or is not known is none.
	Withdraw(ctx context.Context, hs []Handle) []error
}

// Waker has a batch system look at jobs whose Booking.Begin has come, where it would do so only once something else happens there.
type Waker interface {
	// Wake returns one error per Handle, in the same order; that a job waits for something else, has begun, has ended or
	// is not known is none.
	Wake(ctx context.Context, hs []Handle) []error
}

// Assigner is a back-end that runs no jobs: it finds each a place at some site, where its user starts it.
type Assigner interface {
	// Claim takes the places of those jobs that have got one, and tells that somebody is there to start them all. It
	// returns one Claim per Handle, in the same order; what was claimed before is told again. Cancel gives a place back.
	Claim(ctx context.Context, hs []Handle) []Claim
}

// Claim is where a job may begin.
type Claim struct {
	System string // name of the site; "": it has no place yet
	Err    error  // it could not be asked about
}

// Herald is a back-end that tells when something is to be done about jobs there, so that it need not be asked about them again
// and again.
type Herald interface {
	// News waits for news of the user's jobs at an endpoint that came after a mark, or for a while, and returns the ids
	// of the jobs' handles and the next mark. "" is the mark of who has heard nothing yet. An error means that there
	// are none to be had for now.
	News(ctx context.Context, endpoint, mark string) (ids []string, next string, err error)
}

// Finder looks up jobs whose submission had an uncertain outcome.
type Finder interface {
	// Find returns the handles of those of our ids that the endpoint has.
	// An error means the endpoint could not be asked: the outcome stays uncertain.
	Find(ctx context.Context, endpoint glue.Endpoint, ids []string) (map[string]Handle, error)
}

// Settler is a back-end that knows for how long a request may still arrive when
// its client is gone; others are given some minutes.
type Settler interface {
	SettleTime() time.Duration
}

// Inventory tells which jobs of the user an endpoint has, whoever remembers them.
type Inventory interface {
	// Inventory lists the jobs that the endpoint shows to the user, ended ones
	// that it still keeps included. An error means that it could not be asked.
	Inventory(ctx context.Context, endpoint glue.Endpoint) ([]Present, error)
	// Describe gives the descriptions that the endpoint has kept of jobs, in the
	// order of hs; nil where it has none, or none that can be read.
	Describe(ctx context.Context, hs []Handle) ([]*jdl.Job, error)
}

// Present is a job that an endpoint has.
type Present struct {
	ID     string // of the request it came by, if it was one of ours
	Name   string // what the endpoint calls it, our id left out; may be empty
	Handle Handle
}

// Completer finishes submissions that were cut short, at back-ends that take
// a job before its input files have arrived.
type Completer interface {
	// Complete brings the input files of jobs that Find has found and that
	// still wait for them; others are left alone. All requests are for the
	// same Endpoint.URL; hs[i] is the job of reqs[i]. It returns one error
	// per request; a job with one still waits.
	Complete(ctx context.Context, reqs []Request, hs []Handle, p Progress) []error
}

// Fetcher brings output files.
type Fetcher interface {
	// Fetch downloads the outputs of each job into its own directory
	// (made if missing). No file is ever written outside of it. A partial
	// earlier download is resumed.
	Fetch(ctx context.Context, jobs []FetchRequest, p Progress) []FetchResult
}

// Lister tells which files jobs have left, without bringing them.
type Lister interface {
	// List returns the names of the files in each job's directory,
	// relative to it, in the order of hs.
	List(ctx context.Context, hs []Handle) []FetchResult
}

// FetchRequest asks for the output of one job.
type FetchRequest struct {
	Handle Handle
	Dir    string
	// Want lists names or globs, every one of which must be there; empty
	// means the job's outputs.
	Want []string
	// Outputs are the names and globs that the job declared, for back-ends
	// that keep more than these; nil: not known.
	Outputs []string
	// Version is another when the files may be others, for servers that do not tell by
	// themselves: a file that was begun is gone on with where it is the same. "": they
	// may change at any time.
	Version string
	// Room is asked before each file is brought; one that it has no room for is left
	// out, and the result's error tells of it. Nil: no bound.
	Room *Room
}

// FetchResult lists the files brought, relative to Dir, or there.
type FetchResult struct {
	Files []string
	Err   error
}

// Cleaner removes jobs and their files from the back-end.
type Cleaner interface {
	Clean(ctx context.Context, hs []Handle) []error
}

// Logger reads the back-end's own log of a job.
type Logger interface {
	Log(ctx context.Context, h Handle, w io.Writer) error
}

// Journaler numbers what it notes of a job.
type Journaler interface {
	// Entries shows what was noted behind the entry of a number (0: all), in order, until visit returns an error, which it
	// returns.
	Entries(ctx context.Context, h Handle, after int64, visit func(LogEntry) error) error
}

// LogEntry is what a back-end has noted of a job.
type LogEntry struct {
	ID                   int64 // its number, above those of the entries before
	At                   int64 // milliseconds of Unix time
	Event, Said, Cluster string
}

// Explainer says in sentences why a job that waits does not run yet.
type Explainer interface {
	Why(ctx context.Context, h Handle) ([]string, error)
}

// Peeker reads a file of a running job from an offset.
type Peeker interface {
	Peek(ctx context.Context, h Handle, name string, offset int64, w io.Writer) (n int64, err error)
}

// Renewer brings the credential delegated for jobs up to date.
type Renewer interface {
	Renew(ctx context.Context, hs []Handle) []error
}

// Restarter lets jobs that failed go on at the same place, from the step that failed. A
// back-end may say for a while after that they have failed.
type Restarter interface {
	Restart(ctx context.Context, hs []Handle) []error
}

// Holder keeps jobs that wait from being started, until they are released.
type Holder interface {
	// Hold and Release return one error per Handle, in the same order. That a job has begun, has ended or is not known is
	// none, and it stays as it is: Status tells of it. Release lets go what a person has held, the user or another, as far
	// as the back-end lets the user.
	Hold(ctx context.Context, hs []Handle) []error
	Release(ctx context.Context, hs []Handle) []error
}

// Pinger tells whether an endpoint is up and lets the user in.
type Pinger interface {
	Ping(ctx context.Context, endpoint string) (Pong, error)
}

// Pong is the answer to a ping.
type Pong struct {
	Interface string        `json:"interface"`
	Versions  []string      `json:"versions"`
	Identity  string        `json:"identity"` // as whom the endpoint sees us; "" when it does not say
	LetIn     bool          `json:"let_in"`
	Rights    []string      `json:"rights"`  // what we may do there that not everybody may
	Leads     bool          `json:"leads"`   // of several replicas the one that plans
	Hinders   []string      `json:"hinders"` // what would keep all jobs of ours there from being begun
	Said      string        `json:"said"`    // the endpoint's own words when not let in
	Latency   time.Duration `json:"latency"`
	// ClockAhead is by how much this machine's clock is ahead of the endpoint's, negative: behind; 0 where they agree within
	// credential.ClockNoted, or that is not known.
	ClockAhead time.Duration `json:"clock_ahead"`
}

// Progress is told of long work. Implementations are safe for concurrent use.
type Progress interface {
	// Step reports that n more of total units of the named piece of work
	// are done; units are jobs or bytes.
	Step(what string, n, total int64)
}

// Forecaster predicts when a job would start. It is asked for several kinds of
// jobs at once, so it is safe for concurrent use.
type Forecaster interface {
	Name() string
	// Forecast returns at most one forecast per resource, by resource ID.
	Forecast(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.Forecast, error)
}

// QueueReader reads the nodes and jobs of an LRMS. One that can tell at no cost that nothing is new marks what it reads (batch.State.Mark).
type QueueReader interface {
	Queue(ctx context.Context) (batch.State, error)
}

// EnvironmentMarker is a QueueReader that tells its batch system which runtime
// environments nodes can deploy, and which of them they have cached.
type EnvironmentMarker interface {
	MarkEnvironments(ctx context.Context, nodes, tags, cached []string) error
}

// QueueLengther asks queue-length services, by resource ID.
type QueueLengther interface {
	Name() string
	QueueLengths(ctx context.Context, rs []*glue.Resource) (map[string]rank.QueueLength, error)
}

// Historian knows how jobs fared before, by resource ID. It is safe for
// concurrent use.
type Historian interface {
	Name() string
	History(ctx context.Context, job *jdl.Job, rs []*glue.Resource) (map[string]rank.History, error)
}

// Estimator knows how much of the time that they ask for a user's jobs use,
// whatever the job and the resource; a Historian usually is one. It is safe for
// concurrent use.
type Estimator interface {
	Name() string
	Usage(ctx context.Context) (rank.Usage, error)
}

// Recorder learns from what becomes of jobs; a Historian usually is one. It is
// told after the fact, in bulk; its errors never stop anything.
type Recorder interface {
	// Sent is told of every request for a job to be started, answered or not.
	Sent(ctx context.Context, attempts []Attempt) error
	// Ended is told of every job that came to its end; ends it is told of
	// twice count once.
	Ended(ctx context.Context, ends []End) error
}

// Attempt is one request for a job to be started.
type Attempt struct {
	ID        string // the request's id, as in Request
	Job       *jdl.Job
	Resource  *glue.Resource
	Forecasts []rank.Forecast // as the services gave them, uncorrected; may be empty
	Err       error           // nil: accepted; else as in Result
}

// End is the end of a job: its final state and times.
type End struct {
	ID     string // the request's id
	Status Status
}

// Monitor says which resources are not well, by resource ID, whatever they publish.
type Monitor interface {
	Name() string
	Troubles(ctx context.Context, rs []*glue.Resource) (map[string]Trouble, error)
}

// Trouble is a monitoring system's complaint.
type Trouble struct {
	Critical bool // the resource must not be used
	Said     string
	At       time.Time
}
