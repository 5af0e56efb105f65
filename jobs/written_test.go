package jobs

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/broker/clock"
	"gridbroker/plugins"
)

// written is the fields of a record that an event changes.
func written(t *testing.T, r *Record, e Event) string {
	t.Helper()
	was := *r
	was.Past = slices.Clone(r.Past)
	if r.Scripts != nil {
		s := *r.Scripts
		was.Scripts = &s
	}
	if _, err := r.Apply(e, lifeStart.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var names []string
	before, after := reflect.ValueOf(was), reflect.ValueOf(*r)
	for i := range before.NumField() {
		if !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			names = append(names, before.Type().Field(i).Name)
		}
	}
	return strings.Join(names, " ")
}

// filled is a job in a state of which every field has something in it, but that it may be sent again.
func filled(st plugins.State) *Record {
	r := &Record{}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string, plugins.Fault:
			f.SetString("was")
		case time.Time:
			f.Set(reflect.ValueOf(lifeStart.Add(-time.Hour)))
		case int, int64, time.Duration:
			f.SetInt(3)
		case float64:
			f.SetFloat(3)
		case bool:
			f.SetBool(true)
		default:
			if f.Kind() == reflect.Slice {
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			} else if f.Kind() == reflect.Pointer {
				f.Set(reflect.New(f.Type().Elem()))
			}
		}
	}
	old := inState(st)
	r.State, r.Past, r.Attempt, r.Handle, r.Resource, r.Tried = st, old.Past, old.Attempt, old.Handle, "was", []string{"a", "was"}
	r.Created = lifeStart.Add(-2 * time.Hour)
	r.NoRetry, r.Handle.Owner, r.Since = false, "was", clock.Reading{Start: "s"}
	return r
}

// What events write into a record that has everything, and into one that has little: all that was of an earlier attempt goes,
// and what is not named here stays.
func TestWhatEventsWrite(t *testing.T) {
	want := map[string]struct{ full, little string }{
		"recorded":                      {"State Created", "State Created"},
		"planned":                       {"Choices", "Choices"},
		"kept back":                     {"Reason", "Reason"},
		"supplied":                      {"Reason Unmatched NotBefore", ""},
		"supply late":                   {"Reason NotBefore", "Reason Unmatched NotBefore"},
		"unmatched, hope":               {"Reason Unmatched NotBefore", "Reason Unmatched NotBefore"},
		"unmatched, none":               {"State Reason NoRetry Unmatched Ended", "State Reason NoRetry Unmatched Ended"},
		"blocked":                       {"State Reason NoRetry Ended", "State Reason NoRetry Ended"},
		"gave up":                       {"State Reason Owner Choices Fault Ended", "State Reason Choices Ended"},
		"unsure":                        {"State Reason Owner Spared Choices Ended", "State Reason Spared Choices Ended"},
		"claimed":                       {"State Native Reason Owner Resource At Site Handle BrokerInfo Attempts Attempt Tried Choices Predicted Guessed StartOdds Environments TakenBack Unmatched NotBefore Uncertain Since Sent", "State Owner Resource At Handle Attempts Attempt Tried Choices Sent"},
		"released":                      {"Owner", ""},
		"withdrawn":                     {"State Owner Handle Choices Uncertain Since Sent", "State Owner Tried Choices Uncertain Since Sent"},
		"accepted":                      {"State Reason Owner Handle Choices Uncertain Since Submitted", "State Owner Handle Choices Uncertain Since Submitted"},
		"refused":                       {"State Reason Owner Past", "State Reason Owner Past"},
		"unfit for one kind":            {"State Reason Owner Past Choices", "State Reason Owner Past Choices"},
		"invalid":                       {"State Reason Owner NoRetry Fault Ended", "State Reason Owner NoRetry Fault Ended"},
		"unanswered":                    {"Reason Owner Uncertain Since", "Reason Owner Uncertain Since"},
		"not found, too early":          {"", ""},
		"not found, by another clock":   {"Uncertain Since", "Uncertain Since"},
		"not found":                     {"State Reason Owner Handle Past Tried Uncertain Since", "State Reason Owner Past Tried Uncertain Since"},
		"found":                         {"State Reason Owner Handle Choices Unmatched NotBefore Uncertain Since", "State Handle Choices Submitted"},
		"found late":                    {"State Reason Owner Resource At Site Handle Past Attempt Choices Predicted Guessed StartOdds Environments Unmatched NotBefore Uncertain Since Sent Submitted", "State Resource At Handle Past Attempt Choices Sent"},
		"stray":                         {"Past", "Past"},
		"seen running":                  {"State Native Reason TakenBack Restarted Uncertain Since Fault Updated", "State Updated"},
		"seen done":                     {"State Native Reason Restarted Uncertain Since Fault Updated", "State Ended Updated"},
		"seen failed":                   {"State Native Reason Restarted Uncertain Since Fault Updated", "State Ended Updated"},
		"not known, at first":           {"", "Uncertain Since"},
		"no verdict":                    {"Uncertain Since", ""},
		"a word that is no state":       {"Uncertain Since", ""},
		"back-ends do not take back":    {"Uncertain Since", ""},
		"cancel":                        {"Cancelled", "Cancelled"},
		"cancel before":                 {"State Reason Cancelled Ended", "State Reason Cancelled Ended"},
		"retried":                       {"State Native Reason Owner Handle Past Tried Cancelled Retries TakenBack Restarted Unmatched NotBefore Uncertain Since Fault ExitCode Host Submitted Started Ended Expires WallTime CPUTime MaxMemory Output", "State Handle Past Tried Retries"},
		"not retried":                   {"Reason NoRetry", "Reason NoRetry"},
		"resubmitted":                   {"Native Reason Owner Handle Cancelled TakenBack Restarted Unmatched NotBefore Uncertain Since Fault ExitCode Host Submitted Started Ended Expires WallTime CPUTime MaxMemory Output", ""},
		"brought":                       {"", ""},
		"renewed":                       {"", ""},
		"vanished":                      {"State Reason NoRetry", "State Reason NoRetry"},
		"restarted":                     {"State Native Reason Owner Past Cancelled TakenBack Restarted Unmatched NotBefore Uncertain Since Fault ExitCode Host Started Ended Expires WallTime CPUTime MaxMemory Output", "State Past Restarted"},
		"not restarted":                 {"State Native Reason Past Restarted Fault ExitCode Host Started Ended Expires WallTime CPUTime MaxMemory Output Scripts", "State Past"},
		"seen cancelled":                {"State Native Reason Restarted Uncertain Since Fault Updated", "State Ended Updated"},
		"retried before it ran":         {"State Native Reason Owner Handle Past Tried Cancelled Shallow TakenBack Restarted Unmatched NotBefore Uncertain Since Fault ExitCode Host Submitted Started Ended Expires WallTime CPUTime MaxMemory Output", "State Handle Past Tried Shallow"},
		"resubmitted anywhere":          {"Native Reason Owner Handle Tried Cancelled TakenBack Restarted Unmatched NotBefore Uncertain Since Fault ExitCode Host Submitted Started Ended Expires WallTime CPUTime MaxMemory Output", "Tried"},
		"taken up":                      {"State Handle Attempts Attempt NoRetry Sent Submitted", "State Handle Attempts Attempt NoRetry Adopted Sent"},
		"brought, of the first attempt": {"Past", "Past"},
	}
	for _, c := range lifeCases() {
		if got := written(t, filled(c.from[0]), c.event); got != want[c.name].full {
			t.Errorf("%s: writes %s, want %s", c.name, got, want[c.name].full)
		}
		if got := written(t, inState(c.from[0]), c.event); got != want[c.name].little {
			t.Errorf("%s: of a record with little writes %s, want %s", c.name, got, want[c.name].little)
		}
	}
}
