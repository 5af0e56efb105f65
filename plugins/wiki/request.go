package wiki

import (
	"fmt"
	"slices"
	"strings"
)

// The verbs. Maui sends the first six; the others are of later dialects.
const (
	GetNodes   = "GETNODES"
	GetJobs    = "GETJOBS"
	StartJob   = "STARTJOB"
	CancelJob  = "CANCELJOB"
	SuspendJob = "SUSPENDJOB"
	ResumeJob  = "RESUMEJOB"
	RequeueJob = "REQUEUEJOB"
	SignalJob  = "SIGNALJOB"
	ModifyJob  = "MODIFYJOB"
	AddTask    = "JOBADDTASK"
	DropTask   = "JOBRELEASETASK"
	RemoveTask = "JOBREMOVETASK"
	WillRun    = "JOBWILLRUN"
	Notify     = "NOTIFYJOB"
	Initialize = "INITIALIZE"
)

// verbs lists what a request may say.
var verbs = []string{
	GetNodes, GetJobs, StartJob, CancelJob, SuspendJob, ResumeJob, RequeueJob, SignalJob, ModifyJob, AddTask, DropTask, RemoveTask, WillRun,
	Notify, Initialize,
}

// Request is a command.
type Request struct {
	Verb   string
	Arg    string
	Params []Param // in their order
}

// Param is NAME=VALUE.
type Param struct{ Name, Value string }

// Param returns a parameter's value, "" where there is none.
func (r *Request) Param(name string) string {
	if i := slices.IndexFunc(r.Params, func(p Param) bool { return p.Name == name }); i >= 0 {
		return r.Params[i].Value
	}
	return ""
}

// String writes the data part.
func (r *Request) String() string {
	var b strings.Builder
	b.WriteString("CMD=" + r.Verb)
	if r.Arg != "" || len(r.Params) == 0 {
		b.WriteString(" ARG=" + inQuotes(r.Arg))
	}
	for _, p := range r.Params {
		b.WriteString(" ")
		if p.Name != "" {
			b.WriteString(p.Name + "=")
		}
		b.WriteString(inQuotes(p.Value))
	}
	return b.String()
}

// inQuotes is a value as one word.
func inQuotes(value string) string {
	if strings.ContainsAny(value, " \t\n") {
		return `"` + value + `"`
	}
	return value
}

// ParseRequest reads the data part of a command: NAME=VALUE by blanks, values
// with blanks in double quotes, words without a name kept as parameters
// without one.
func ParseRequest(data string) (*Request, error) {
	words, err := fields(data)
	if err != nil {
		return nil, err
	}
	r := &Request{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		switch {
		case ok && name == "CMD":
			r.Verb = value
		case ok && name == "ARG" && r.Arg == "":
			r.Arg = strings.Trim(value, `"`)
		case ok && name != "":
			r.Params = append(r.Params, Param{name, strings.Trim(value, `"`)})
		default:
			r.Params = append(r.Params, Param{"", w})
		}
	}
	if !slices.Contains(verbs, r.Verb) {
		return nil, &FormatError{CodeFormat, fmt.Sprintf("unknown command %.40q", r.Verb)}
	}
	return r, nil
}

// maxWords bounds the words of a command.
const maxWords = 1 << 16

// fields parts at blanks that are not in double quotes.
func fields(text string) (list []string, err error) {
	quoted, start := false, -1
	for i := 0; i <= len(text); i++ {
		blank := i == len(text) || !quoted && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n')
		switch {
		case blank && start >= 0:
			if list, start = append(list, text[start:i]), -1; len(list) > maxWords {
				return nil, &FormatError{CodeFormat, "too many words"}
			}
		case blank:
		default:
			if start < 0 {
				start = i
			}
			quoted = quoted != (text[i] == '"')
		}
	}
	if quoted {
		return nil, &FormatError{CodeFormat, "a quote is not closed"}
	}
	return list, nil
}
