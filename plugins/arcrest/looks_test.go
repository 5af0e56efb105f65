package arcrest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
)

// What A-REX says of one job, look by look: the state in the list and the one
// in the details.
var momentary = map[string]struct {
	list, info []string
	want       plugins.State
}{
	"moved to the finished ones": {[]string{"WIPED", "FINISHED"}, []string{"ACCEPTED", "FINISHED</State><ExitCode>0</ExitCode><State>"}, plugins.Done},
	"moved twice":                {[]string{"", "WIPED", "RUNNING"}, []string{"ACCEPTED"}, plugins.Running},
	"removed long ago":           {[]string{"WIPED"}, []string{"WIPED"}, plugins.Lost},
	"cancelled, being cleaned":   {[]string{"FINISHED", ""}, []string{"ACCEPTED", ""}, plugins.Lost},
	"without an exit code":       {[]string{"FINISHED"}, []string{"FINISHED"}, plugins.Done},
	"going on":                   {[]string{"", "KILLING"}, []string{"ACCEPTED"}, plugins.Finishing},
}

// look is the answer of the n-th look, the last one for all later ones.
func look(all []string, n int32) string { return all[min(int(n), len(all)-1)] }

func TestMomentaryStates(t *testing.T) {
	for name, c := range momentary {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lists, infos atomic.Int32
			f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
				switch {
				case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs"):
					if state := look(c.list, lists.Add(1)-1); state != "" {
						fmt.Fprintf(w, "<jobs><job><id>job1</id><state>%s</state></job></jobs>", state)
					}
				case r.URL.Query().Get("action") == "info":
					answerInfo(w, body, look(c.info, infos.Add(1)-1))
				case strings.Contains(r.URL.Path, "/diagnose/"):
					w.WriteHeader(http.StatusNotFound)
				default:
					return false
				}
				return true
			})
			b := f.backend(t)
			client, err := b.client(t.Context(), "x", f.url(), "")
			check(t, err)
			if st := b.Status(t.Context(), []plugins.Handle{client.handle("job1")})[0]; st.State != c.want {
				t.Errorf("%+v", st)
			}
			if n := lists.Load(); n > looks {
				t.Errorf("%d looks", n)
			}
		})
	}
}

func answerInfo(w http.ResponseWriter, body, state string) {
	if state == "" {
		echo(w, body, "<status-code>404</status-code><reason>Job not found</reason>")
		return
	}
	echo(w, body, "<status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><Name>ours name</Name><State>arcrest:"+state+"</State></ComputingActivity></info_document>")
}

// A-REX can leave out a job that it is just moving: about one look in four
// hundred did. Neither Find nor Status may take that for an answer.
func TestOneLookIsNotEnough(t *testing.T) {
	var lists, infos atomic.Int32
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs"):
			if lists.Add(1)%2 == 0 {
				fmt.Fprint(w, "<jobs><job><id>job1</id><state>RUNNING</state></job></jobs>")
			}
		case r.URL.Query().Get("action") == "info" && infos.Add(1) == 1 && lists.Load() < 2:
			echo(w, body, "<status-code>404</status-code><reason>Job not found</reason>")
		case r.URL.Query().Get("action") == "info":
			echo(w, body, "<status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><Name>ours name</Name><State>arcrest:RUNNING</State></ComputingActivity></info_document>")
		default:
			return false
		}
		return true
	})
	b := f.backend(t)
	c, err := b.client(t.Context(), "x", f.url(), "")
	check(t, err)
	if st := b.Status(t.Context(), []plugins.Handle{c.handle("job1")})[0]; st.State != plugins.Running || st.Err != nil {
		t.Errorf("%+v", st)
	}
	found, err := b.Find(t.Context(), glue.Endpoint{URL: f.url()}, []string{"ours"})
	if err != nil || found["ours"].ID != "job1" {
		t.Errorf("%v, %v", found, err)
	}
}

// A job that another client is sending has no name yet, and may have none for long:
// ours are found beside it; those that are not there stay unknown until it has one.
func TestNamelessBesideOurs(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/jobs"):
			fmt.Fprint(w, "<jobs><job><id>job1</id><state>RUNNING</state></job><job><id>job2</id><state>ACCEPTING</state></job></jobs>")
		case r.URL.Query().Get("action") == "info":
			body = strings.Replace(body, "job2</id>", "job2</id><status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><State>arcrest:ACCEPTING</State></ComputingActivity></info_document>", 1)
			body = strings.Replace(body, "job1</id>", "job1</id><status-code>200</status-code><reason>OK</reason><info_document><ComputingActivity><Name>ours name</Name><State>arcrest:RUNNING</State></ComputingActivity></info_document>", 1)
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, body)
		default:
			return false
		}
		return true
	})
	b := f.backend(t)
	found, err := b.Find(t.Context(), glue.Endpoint{URL: f.url()}, []string{"ours"})
	if err != nil || found["ours"].ID != "job1" {
		t.Errorf("%v, %v", found, err)
	}
	found, err = b.Find(t.Context(), glue.Endpoint{URL: f.url()}, []string{"ours", "other"})
	if e, ok := errors.AsType[*plugins.Error](err); !ok || e.Kind != plugins.Unavailable {
		t.Errorf("%v, %v", found, err)
	}
}

// While it moves a job's files A-REX does not know the job, or does not cancel
// it. Neither is an answer the first time.
func TestCancelAsksAgain(t *testing.T) {
	const (
		cancelled = "<status-code>202</status-code><reason>Queued for killing</reason>"
		refuses   = "<status-code>500</status-code><reason>Job could not be canceled</reason>"
		unknown   = "<status-code>404</status-code><reason>Job not found</reason>"
	)
	for name, c := range map[string]struct {
		answers []string
		looks   int32
		fails   bool
	}{
		"at once":           {[]string{cancelled}, 1, false},
		"refuses once":      {[]string{refuses, cancelled}, 2, false},
		"does not know yet": {[]string{unknown, unknown, cancelled}, 3, false},
		"never knows it":    {[]string{unknown}, looks, false},
		"refuses":           {[]string{refuses}, looks, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var kills atomic.Int32
			f := newFake(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
				if r.URL.Query().Get("action") != "kill" {
					return false
				}
				echo(w, body, look(c.answers, kills.Add(1)-1))
				return true
			})
			b := f.backend(t)
			client, err := b.client(t.Context(), "x", f.url(), "")
			check(t, err)
			if err := b.Cancel(t.Context(), []plugins.Handle{client.handle("job1")})[0]; (err != nil) != c.fails {
				t.Error(err)
			}
			if n := kills.Load(); n != c.looks {
				t.Errorf("asked %d times, want %d", n, c.looks)
			}
		})
	}
}
