package cli

import (
	"reflect"
	"time"

	"gridbroker/credential"
	"gridbroker/environment"
	"gridbroker/environment/tags"
	"gridbroker/forecast/managers/daemon"
	"gridbroker/forecast/scheduler"
	"gridbroker/forecast/sim"
	"gridbroker/infosys"
	"gridbroker/jobs"
	"gridbroker/plugins/history"
	"gridbroker/plugins/wiki"
)

// A Documented is one kind of document that --json prints.
type Documented struct {
	Name    string       // grid.submit; the verb's words, with dots between them
	Version int          // of its schema; within one a document only gains fields
	Type    reflect.Type // of its body
	Of      string       // who prints it, and what it tells
}

// Documents lists every document that the command prints with --json.
func Documents() []Documented {
	return append(append(jobDocuments(), toolDocuments()...), siteDocuments()...)
}

func kindOf[T any](name string, version int, of string) Documented {
	return Documented{"grid." + name, version, reflect.TypeFor[T](), of}
}

// jobDocuments are those of the verbs about jobs and resources.
func jobDocuments() []Documented {
	list := []Documented{
		kindOf[errorDocument]("error", 1, "any verb that fails before it has printed another document"),
		kindOf[submitDocument]("submit", 2, "submit, manager run: the jobs as they are recorded, and those that nothing takes, with the reasons; of manager run --jdl one document for each job, as it ends"),
		kindOf[planDocument]("submit.plan", 2, "submit --dry-run: the plan"),
		kindOf[planDocument]("match", 2, "match: who would take each job, with every term of the score"),
		kindOf[resourcesDocument]("resources", 2, "resources: what the sources publish"),
		kindOf[logDocument]("log", 2, "log: what was done with jobs, and their back-ends' own logs"),
		kindOf[outputDocument]("output", 2, "output: which files were brought where"),
		kindOf[whyDocument]("why", 2, "why: sentences about each job"),
		kindOf[catDocument]("cat", 1, "cat: what a job has written"),
		kindOf[runDocument]("run", 1, "run, manager run: the job, and what it printed; of manager run one document for each job, as it ends"),
		kindOf[textDocument]("run.show", 1, "run --show: the description"),
		kindOf[followDocument]("follow", 1, "follow: one document for each change of a job"),
		kindOf[adoptDocument]("adopt", 1, "adopt: jobs at back-ends that came into the records"),
		kindOf[probeDocument]("probe", 2, "probe: how a test job fared at each resource"),
		kindOf[pingDocument]("ping", 2, "ping: whether services are up, and whether they let us in"),
		kindOf[healthDocument]("health", 2, "health: what is known of resources' failures"),
		kindOf[pinDocument]("health.pin", 2, "health pin, unpin, clear: which resources it was done to"),
	}
	for _, verb := range []string{"status", "list", "show", "watch", "cancel", "hold", "release", "clean", "restart", "resubmit", "refresh"} {
		list = append(list, kindOf[jobsDocument](verb, 2, verb+": the jobs as they are recorded afterwards"))
	}
	return append(list, kindOf[jobsDocument]("auth.renew", 2, "auth renew, auth watch: the jobs as they are recorded afterwards; of watch one document for each round"))
}

// toolDocuments are those of the verbs about descriptions, credentials, settings and records.
func toolDocuments() []Documented {
	return []Documented{
		kindOf[welcomeDocument]("welcome", 1, "grid without a verb: what was found here"),
		kindOf[versionDocument]("version", 1, "grid --version"),
		kindOf[checkDocument]("jdl.check", 2, "jdl check: the findings, file by file"),
		kindOf[valuesDocument]("jdl.eval", 2, "jdl eval: the values"),
		kindOf[textDocument]("jdl.convert", 1, "jdl convert: the text, or the files that were written"),
		kindOf[textDocument]("jdl.new", 1, "jdl new: the template, or the file that was written"),
		kindOf[authStatus]("auth.status", 2, "auth status, proxy, login: the credentials"),
		kindOf[doctorDocument]("auth.doctor", 2, "auth doctor: the findings"),
		kindOf[pathDocument]("config.path", 2, "config path"),
		kindOf[pathDocument]("config.init", 2, "config init: the file that was written"),
		kindOf[pathDocument]("config.check", 2, "config check: the file that is good"),
		kindOf[configDocument]("config.show", 2, "config show: the settings that hold"),
		kindOf[jobs.Health]("store.check", 2, "store check: how the records are"),
		kindOf[asideDocument]("store.repair", 2, "store repair: what was set aside"),
		kindOf[pathDocument]("store.backup", 1, "store backup: the copy"),
		kindOf[pathDocument]("follow.install", 1, "follow --install: the unit that was written"),
		kindOf[pathDocument]("man", 1, "man: the directory that was written"),
	}
}

// siteDocuments are those of the verbs for sites, and of the simulators.
func siteDocuments() []Documented {
	return []Documented{
		kindOf[servingDocument]("serving", 1, "cache serve, manager serve, agent queues, agent run, agent wiki serve, scheduler serve: where it listens, once it does"),
		kindOf[environmentsDocument]("env.list", 2, "env list"),
		kindOf[pushDocument]("env.push", 2, "env push: the image as other sites import it"),
		kindOf[imageDocument]("env.image", 2, "env build, import: the image and its definition"),
		kindOf[verifiedDocument]("env.verify", 1, "env verify"),
		kindOf[removedDocument]("env.gc", 1, "env gc"),
		kindOf[tagsDocument]("tags.list", 2, "tags list"),
		kindOf[tagsChangeDocument]("tags.change", 1, "tags add, remove, validate"),
		kindOf[changesDocument]("tags.history", 2, "tags history"),
		kindOf[argvDocument]("tags.slurm", 2, "tags publish slurm: the command"),
		kindOf[textDocument]("tags.publish", 1, "tags publish glue1, glue2, rte: the text"),
		kindOf[daemon.State]("manager.show", 2, "manager show"),
		kindOf[managerTree]("manager.tree", 1, "manager show --tree"),
		kindOf[budgetDocument]("budget", 2, "budget"),
		kindOf[scheduler.Reasons]("scheduler.explain", 2, "scheduler explain"),
		kindOf[checklistDocument]("scheduler.doctor", 1, "scheduler doctor: what was looked at, and whether it is as it should be"),
		kindOf[drainDocument]("scheduler.drain", 1, "scheduler drain: whether the cluster is closed for bookings now"),
		kindOf[initDocument]("scheduler.init", 1, "scheduler init: the files that were written"),
		kindOf[checklistDocument]("agent.doctor", 1, "agent doctor: what was looked at, and whether it is as it should be"),
		kindOf[vresDocument]("agent.vres", 1, "agent vres: one document for each look"),
		kindOf[eventDocument]("agent.schedule", 2, "agent schedule: one document for each decision"),
		kindOf[shown]("sim.queue.show", 2, "sim queue --show"),
		kindOf[simForecastDocument]("sim.forecast", 1, "sim forecast"),
		kindOf[simSlotsDocument]("sim.forecast.slots", 1, "sim forecast --slots"),
		kindOf[simQueueDocument]("sim.queue", 2, "sim queue"),
		kindOf[simCacheDocument]("sim.cache", 2, "sim cache"),
		kindOf[simTreeDocument]("sim.tree", 2, "sim tree"),
		kindOf[sim.Result]("sim.grid", 2, "sim grid"),
		kindOf[sim.Variation]("sim.grid.vary", 1, "sim grid --vary"),
		kindOf[textDocument]("sim.workload", 1, "sim workload: the text, or the file that was written"),
	}
}

// errorDocument is what a verb that failed prints with --json, where it has printed nothing else.
type errorDocument struct {
	Error    string `json:"error"`
	ExitCode int    `json:"exit_code"` // see the table of exit codes in README.md
}

// submitDocument is what became of a submission.
type submitDocument struct {
	Jobs      []recordDocument `json:"jobs"`
	Unmatched []jobDocument    `json:"unmatched"` // jobs that nothing takes, with the explanation
}

// resourcesDocument is a snapshot; a file of it can be a source (file:).
type resourcesDocument = infosys.Snapshot

type catDocument struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Text string `json:"text"`
}

type runDocument struct {
	Job    *recordDocument `json:"job"`
	Stdout string          `json:"stdout"`
	Stderr string          `json:"stderr"`
}

type followDocument struct {
	Job  recordDocument `json:"job"`
	Text string         `json:"text"` // the change in words
}

type probeDocument struct {
	Resources []*probed `json:"resources"`
}

type pingDocument struct {
	Endpoints []pong `json:"endpoints"`
}

type healthDocument struct {
	Resources []history.Health `json:"resources"`
}

type pinDocument struct {
	Pin       string   `json:"pin"`       // up, down, unpinned, cleared
	Resources []string `json:"resources"` // of clear --all: none
}

type versionDocument struct {
	Version string `json:"version"`
}

type welcomeDocument struct {
	Version    string   `json:"version"`
	Settings   string   `json:"settings"` // the configuration file; empty: there is none
	Sources    []string `json:"sources"`
	Credential string   `json:"credential"`
	Jobs       string   `json:"jobs"`
	Next       []string `json:"next"` // commands to go on with
}

type checkDocument struct {
	Files []checkedFile `json:"files"`
}

type valuesDocument struct {
	Values []answer `json:"values"`
}

// textDocument is a text that the verb prints otherwise, or the files that it was written to.
type textDocument struct {
	Language string   `json:"language,omitempty"`
	Text     string   `json:"text,omitempty"`
	Files    []string `json:"files,omitempty"`
}

type doctorDocument struct {
	Findings []credential.Finding `json:"findings"`
	Worst    credential.Severity  `json:"worst"`
}

type pathDocument struct {
	Path string `json:"path"`
}

type asideDocument struct {
	Aside []jobs.Damage `json:"aside"`
	// Lost is that the file could not be repaired and new records were made.
	Lost      bool     `json:"lost"`
	File      string   `json:"file,omitempty"` // where it is now
	Salvaged  int      `json:"salvaged"`       // records that could be read in it
	Unread    int      `json:"unread"`         // records of which it has but the ids
	UnreadIDs []string `json:"unread_ids,omitempty"`
	Taken     int      `json:"taken"`  // records of the backup alone
	Unsure    int      `json:"unsure"` // of these all, those of jobs that may have been sent since
}

type servingDocument struct {
	Verb   string `json:"verb"`
	Listen string `json:"listen"` // HOST:PORT
}

type environmentsDocument struct {
	Environments []environmentView `json:"environments"`
}

type imageDocument struct {
	Tag        string `json:"tag"`
	Image      string `json:"image"`
	Digest     string `json:"digest"`
	Definition string `json:"definition"` // the file
}

// drainDocument is a cluster that was closed for bookings, or opened.
type drainDocument struct {
	Cluster string `json:"cluster"`
	Drained bool   `json:"drained"`
}

// initDocument is what a scheduler was begun with.
type initDocument struct {
	Config   string   `json:"config"`
	Database string   `json:"database"` // without its password
	Wrote    []string `json:"wrote"`    // files that were not there before
}

type pushDocument struct {
	Tag    string `json:"tag"`
	Image  string `json:"image"` // docker://HOST/NAME
	Digest string `json:"digest"`
}

type verifiedDocument struct {
	Environments []verifiedTree `json:"environments"`
}

type verifiedTree struct {
	Digest string `json:"digest"`
	Whole  bool   `json:"whole"` // as it was unpacked
	Why    string `json:"why,omitempty"`
}

type removedDocument struct {
	Removed []environment.Entry `json:"removed"`
	Surplus []environment.Entry `json:"surplus,omitempty"` // would go; nothing was removed
}

type tagsDocument struct {
	Tags []tags.Tag `json:"tags"`
}

type tagsChangeDocument struct {
	Change string   `json:"change"` // add, remove, or the state that validation gave
	VO     string   `json:"vo,omitempty"`
	Tags   []string `json:"tags"`
}

type changesDocument struct {
	Changes []tags.Change `json:"changes"`
}

type argvDocument struct {
	Argv []string `json:"argv"`
}

type budgetDocument struct {
	Budgets []budgetLine `json:"budgets"`
}

type eventDocument struct {
	Event wiki.Event `json:"event"`
}

type simForecastDocument struct {
	Trace string        `json:"trace"`
	Load  float64       `json:"load"`
	Skip  float64       `json:"skip_percent"`
	Procs int           `json:"procs"`
	Runs  []forecastRun `json:"runs"`
}

type simSlotsDocument struct {
	Trace  string        `json:"trace"`
	Load   float64       `json:"load"`
	Length time.Duration `json:"length"`
	Procs  int           `json:"procs"`
	Runs   []slotRun     `json:"runs"`
}

type simQueueDocument struct {
	Trace string      `json:"trace"`
	Load  float64     `json:"load"`
	Runs  []*queueRun `json:"runs"`
}

type simCacheDocument struct {
	Points []*cachePoint `json:"points"`
}

type simTreeDocument struct {
	Points []*treePoint `json:"points"`
}
