package maui

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Warning names a line of a maui.cfg that was not taken in, and why.
type Warning struct {
	Line int
	Name string
	Why  string
}

// LineError is a line of a maui.cfg whose value cannot be.
type LineError struct {
	Line  int
	Name  string
	Value string
	Want  string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("maui.cfg:%d: %s %q: want %s", e.Line, e.Name, e.Value, e.Want)
}

// lineBytes bounds a line of maui.cfg.
const lineBytes = 64 << 10

// ReadConfig reads a maui.cfg: the parameters that are modelled; the
// others are named in the warnings, each with its line.
func ReadConfig(r io.Reader) (*Config, []Warning, error) {
	p := parser{c: NewConfig()}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineBytes)
	for lines.Scan() {
		p.line++
		text, _, _ := strings.Cut(lines.Text(), "#")
		if fields := strings.Fields(text); len(fields) > 0 {
			p.set(fields[0], fields[1:])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, fmt.Errorf("maui.cfg:%d: %w", p.line+1, err)
	}
	return p.c, p.warnings, p.err
}

type parser struct {
	c        *Config
	line     int
	warnings []Warning
	err      error // the first
}

// fail notes an impossible value.
func (p *parser) fail(name, value, want string) {
	if p.err == nil {
		p.err = &LineError{p.line, name, value, want}
	}
}

func (p *parser) warn(name, why string) {
	p.warnings = append(p.warnings, Warning{p.line, name, why})
}

// set takes in one parameter; name may carry an index in brackets.
func (p *parser) set(name string, values []string) {
	name, index := bracketed(name)
	name = strings.ToUpper(name)
	value := strings.Join(values, " ")
	if known, ok := p.words()[name]; ok {
		*known.to = strings.ToUpper(value)
		if !slices.Contains(known.of, *known.to) {
			p.fail(name, value, "one of "+strings.Join(known.of, ", "))
		}
		return
	}
	switch {
	case p.number(name, index, value), p.credential(name, index, values), p.other(name, index, values), p.weight(name, value):
	case slices.Contains(silent, name):
	default:
		p.warn(name, "not modelled")
	}
}

// silent are parameters that do not bear on decisions: names, ports, logs.
var silent = []string{
	"SERVERHOST", "SERVERPORT", "SERVERMODE", "SERVERNAME", "ADMIN1", "ADMIN2", "ADMIN3", "RMCFG", "RMTYPE", "AMCFG", "LOGFILE",
	"LOGFILEMAXSIZE", "LOGLEVEL", "LOGDIR", "STATDIR", "JOBAGGREGATIONTIME", "ADMINHOSTS", "CHECKPOINTFILE",
}

// bracketed parts NAME[INDEX].
func bracketed(name string) (string, string) {
	base, rest, ok := strings.Cut(name, "[")
	if !ok {
		return name, ""
	}
	return base, strings.TrimSuffix(rest, "]")
}

type word struct {
	to *string
	of []string
}

// words are the parameters whose value is one of a list.
func (p *parser) words() map[string]word {
	c := p.c
	return map[string]word{
		"BACKFILLPOLICY":           {&c.Backfill, []string{"FIRSTFIT", "BESTFIT", "GREEDY", "PREEMPT", "NONE"}},
		"BACKFILLMETRIC":           {&c.Metric, []string{"PROCS", "PROCSECONDS", "SECONDS", "PE", "PESECONDS"}},
		"RESERVATIONPOLICY":        {&c.ReservationPolicy, []string{"CURRENTHIGHEST", "HIGHEST", "NEVER"}},
		"RESERVATIONTHRESHOLDTYPE": {&c.Threshold, []string{"NONE", "BYPASS", "QUEUETIME", "XFACTOR"}},
		"NODEALLOCATIONPOLICY": {&c.Allocation, []string{
			"LASTAVAILABLE", "FIRSTAVAILABLE", "MINRESOURCE", "CPULOAD", "FASTEST", "PRIORITY", "MACHINEPRIO", "MAXBALANCE",
		}},
		"NODEACCESSPOLICY":     {&c.Access, []string{"SHARED", "SINGLEJOB", "SINGLETASK", "SINGLEUSER"}},
		"PREEMPTPOLICY":        {&c.Preempt, []string{"REQUEUE", "SUSPEND", "CANCEL", "CHECKPOINT"}},
		"JOBPRIOACCRUALPOLICY": {&c.Accrual, []string{"FULLPOLICY", "QUEUEPOLICY", "ALWAYS"}},
		"FSPOLICY": {&c.FairShare.Policy, []string{
			"NONE", "DEDICATEDPS", "DEDICATEDPES", "UTILIZEDPS", "DEDICATEDPS%", "DEDICATEDPES%", "UTILIZEDPS%",
		}},
	}
}

// number takes in parameters that are counts or times.
func (p *parser) number(name, index, value string) bool {
	c := p.c
	times := map[string]*int64{
		"DEFERTIME": &c.Defer, "JOBMAXOVERRUN": &c.Overrun, "SYSTEMMAXJOBWALLTIME": &c.MaxJobTime, "FSINTERVAL": &c.FairShare.Interval,
		"RMPOLLINTERVAL": &c.Poll, "XFMINWCLIMIT": &c.Weights.XFMinLimit,
	}
	counts := map[string]*int64{
		"RESERVATIONTHRESHOLDVALUE": &c.ThresholdValue, "SYSTEMMAXPROCPERJOB": &c.MaxJobProcs, "SYSTEMMAXPROCSECONDPERJOB": &c.MaxJobPS,
	}
	ints := map[string]*int{"BACKFILLDEPTH": &c.BackfillDepth, "FSDEPTH": &c.FairShare.Depth}
	switch {
	case times[name] != nil:
		*times[name] = p.time(name, value)
	case counts[name] != nil:
		*counts[name] = p.count(name, value)
	case ints[name] != nil:
		*ints[name] = int(p.count(name, value))
	case name == "FSDECAY":
		if c.FairShare.Decay = p.float(name, value); c.FairShare.Decay < 0 || c.FairShare.Decay > 1 {
			p.fail(name, value, "a number of 0 to 1") // beyond it, old use would grow until it is no number
		}
	case name == "RESERVATIONDEPTH":
		if b := p.bucket(index); b != nil {
			b.Depth = int(p.count(name, value))
		}
	default:
		return false
	}
	return true
}

// buckets bounds the index of RESERVATIONDEPTH.
const buckets = 128

func (p *parser) bucket(index string) *Bucket {
	i := 0
	if index != "" {
		n, err := strconv.Atoi(index)
		if err != nil || n < 0 || n >= buckets {
			p.fail("RESERVATIONDEPTH", index, "an index of 0 to 127")
			return nil
		}
		i = n
	}
	for len(p.c.Buckets) <= i {
		p.c.Buckets = append(p.c.Buckets, Bucket{Named: true})
	}
	return &p.c.Buckets[i]
}

// other takes in the parameters that are lists.
func (p *parser) other(name, index string, values []string) bool {
	switch name {
	case "RESERVATIONQOSLIST":
		if b := p.bucket(index); b != nil {
			b.Named = !slices.Contains(values, "ALL") && !slices.Contains(values, "[ALL]")
			b.QOS = values
		}
	case "NODECFG":
		p.node(index, values)
	case "SRCFG":
		p.standing(index, values)
	case "ENABLENEGJOBPRIORITY":
		p.c.Weights.Negative = truth(values)
	case "USEMACHINESPEED":
		p.c.MachineSpeed = truth(values)
	case "REJECTNEGPRIOJOBS":
		p.c.Weights.RejectNegative = truth(values)
	default:
		return false
	}
	return true
}

func truth(values []string) bool {
	return len(values) > 0 && slices.Contains([]string{"TRUE", "ON", "YES", "1"}, strings.ToUpper(values[0]))
}

// wholes are the components of a priority, subs their parts.
var (
	wholes = []string{"SERV", "TARG", "CRED", "FS", "RES"}
	subs   = []string{
		"QUEUETIME", "XFACTOR", "SPVIOLATION", "BYPASS", "TARGETQUEUETIME", "TARGETXFACTOR", "USER", "GROUP", "ACCOUNT", "QOS", "CLASS",
		"FSUSER", "FSGROUP", "FSACCOUNT", "FSQOS", "FSCLASS", "NODE", "PROC", "MEM", "SWAP", "DISK", "PS", "PE", "WALLTIME", "UPROC", "UJOB",
	}
)

// weight takes in NAMEWEIGHT and NAMECAP.
func (p *parser) weight(name, value string) bool {
	w := &p.c.Weights
	component := map[string]*float64{
		"CREDWEIGHT": &w.Cred, "FSWEIGHT": &w.FS, "SERVWEIGHT": &w.Serv, "SERVICEWEIGHT": &w.Serv, "TARGWEIGHT": &w.Targ,
		"TARGETWEIGHT": &w.Targ, "RESWEIGHT": &w.Res, "RESOURCEWEIGHT": &w.Res,
	}[name]
	base, isWeight := strings.CutSuffix(name, "WEIGHT")
	limit, isCap := strings.CutSuffix(name, "CAP")
	if whole := map[string]string{"SERVICE": "SERV", "TARGET": "TARG", "RESOURCE": "RES"}[limit]; whole != "" {
		limit = whole
	}
	switch {
	case component != nil:
		*component = p.float(name, value)
	case isWeight && slices.Contains(subs, base):
		w.Sub[base] = p.float(name, value)
	case isCap && (slices.Contains(subs, limit) || slices.Contains(wholes, limit)):
		w.Caps[limit] = p.float(name, value)
	default:
		return false
	}
	return true
}

func (p *parser) float(name, value string) float64 {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || f != f || f > 1e15 || f < -1e15 {
		p.fail(name, value, "a number")
		return 0
	}
	return f
}

func (p *parser) count(name, value string) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		p.fail(name, value, "a number, 0 or more")
		return 0
	}
	return n
}

// time reads [[[D:]H:]M:]S; INFINITY and -1 are -1.
func (p *parser) time(name, value string) int64 {
	if value == "-1" || strings.HasPrefix(strings.ToUpper(value), "INFIN") {
		return -1
	}
	parts := strings.Split(value, ":")
	sum, unit := int64(0), []int64{1, 60, 3600, 86400}
	for i := range parts {
		n, err := strconv.ParseInt(parts[len(parts)-1-i], 10, 32)
		if err != nil || n < 0 || i >= len(unit) {
			p.fail(name, value, "a time [[[D:]H:]M:]S")
			return 0
		}
		sum += n * unit[i]
	}
	return sum
}
