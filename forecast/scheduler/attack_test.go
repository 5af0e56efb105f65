package scheduler

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// A job's description cannot make its owner a member of a VO: what the door has
// found out is all that clusters and their priority functions go by.
func TestNobodyJoinsAVO(t *testing.T) {
	member := Person{Subject: "alice", VO: "atlas", FQANs: []string{"/atlas/production", "/dteam/Role=x"}}
	f := newFront(t, nil)
	for text, want := range map[string]string{
		`[ Executable = "/bin/true"; VirtualOrganisation = "atlas"; ]`: "atlas",
		`[ Executable = "/bin/true"; VirtualOrganisation = "dteam"; ]`: "dteam",
		`[ Executable = "/bin/true"; ]`:                                "atlas",
		`[ Executable = "/bin/true"; VirtualOrganisation = "ops"; ]`:   "",
	} {
		for _, who := range []Person{member, {Subject: "mallory"}} {
			got, err := f.s.Submit(t.Context(), who, []Submission{{Key: "k" + text, JDL: text}})
			if err != nil {
				t.Fatal(err)
			}
			want := want
			if claims := strings.Contains(text, "Virtual"); who.VO == "" {
				want = ""
				if !claims {
					continue
				}
			}
			list, err := f.s.Jobs(t.Context(), who, []string{got[0].ID})
			if err != nil || (len(list) == 1) != (want != "") || want != "" && list[0].VO != want {
				t.Errorf("%s: %s: %+v %v", who.Subject, text, got, err)
			}
			if want == "" && !strings.Contains(got[0].Error, "member of") {
				t.Errorf("%s: %s: %q", who.Subject, text, got[0].Error)
			}
		}
	}
	got := f.submit("bob", "r", sample)
	if code := f.ask(f.client(nil), "bob", "PATCH", "/v1/jobs/"+got.ID, map[string]any{"jdl": `[ Executable = "/bin/true"; VirtualOrganisation = "atlas"; ]`}, nil); code != 422 {
		t.Errorf("refreshed into a VO: %d", code)
	}
}

// Another site's page that a user's browser shows cannot speak for the user,
// whose certificate the browser shows to everybody.
func TestPagesOfOthersCannotAct(t *testing.T) {
	f := newFront(t, nil)
	admin := f.client(f.user(f.ca, "Admin"))
	for origin, want := range map[string]int{"https://evil.example": 403, "null": 403, f.server.URL: 204, "": 204} {
		req, err := http.NewRequest("POST", f.server.URL+"/v1/clusters/c0/drain", strings.NewReader(`{"drain": true}`))
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" { // what browsers send without asking: no type, so no preflight
			req.Header.Set("Origin", origin)
			req.Header.Set("Sec-Fetch-Site", map[bool]string{true: "same-origin", false: "cross-site"}[origin == f.server.URL])
		}
		resp, err := admin.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want && !(want == 204 && resp.StatusCode == 404) { // nothing was heard of the cluster yet
			t.Errorf("from %q: %s %s, want %d", origin, resp.Status, text, want)
		}
	}
}

// What strangers send is not read; many long bodies of somebody known are read
// one after the other.
func TestBodiesOfManyAtOnce(t *testing.T) {
	f := newFront(t, nil)
	body := []byte(`{"jobs": [` + strings.Repeat(`{},`, 3<<20) + `{}]}`)
	send := func(token string, n int) (codes map[int]int) {
		codes = map[int]int{}
		answers := make(chan int, n)
		c := f.client(nil)
		for range n {
			go func() {
				req, _ := http.NewRequest("POST", f.server.URL+"/v1/jobs", bytes.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				if token != "" {
					req.Header.Set("Authorization", "Bearer "+token)
				}
				resp, err := c.Do(req)
				if err != nil {
					answers <- 401 // closed while we still sent
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				answers <- resp.StatusCode
			}()
		}
		for range n {
			codes[<-answers]++
		}
		return codes
	}
	testbed.Within(t, 10*time.Second, 200<<20, func() {
		if codes := send("", 20); codes[401] != 20 {
			t.Errorf("strangers: %v", codes)
		}
	})
	testbed.Within(t, 10*time.Second, 400<<20, func() {
		if codes := send("alice", 4); codes[413] != 4 {
			t.Errorf("many empty jobs: %v", codes)
		}
	})
}

// Nobody can hold all streams of events, and each entry costs one look however
// many watch.
func TestStreams(t *testing.T) {
	f := newFront(t, nil)
	c := f.client(nil)
	codes := map[int]int{}
	for i := range 40 {
		req, _ := http.NewRequest("GET", f.server.URL+"/v1/events", nil)
		req.Header.Set("Authorization", "Bearer alice")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(i, err)
		}
		defer resp.Body.Close()
		codes[resp.StatusCode]++
	}
	t.Log(codes)
	if codes[429] == 0 || codes[200] < 8 {
		t.Error(codes)
	}
}

// A user whose requirements take long to judge waits for that himself: a cycle
// goes on in time, others' jobs get their slots in it, and in the end all are judged.
func TestCostlyRequirements(t *testing.T) {
	testbed.Computes(t)
	w := newWorld(t, sqliteDSN(t), 3, 0, 40, 40)
	w.step(30)
	var ids []string
	for i := range 60 {
		ids = append(ids, w.submitJob("mallory", fmt.Sprint("m", i), fmt.Sprintf(`[ Executable = "/bin/true"; JobName = "j"; WallTime = 60;
			Requirements = regexp("(a*)(a*)(a*)(a*)(a*)b\\1\\2%d$", "%s") || true; ]`, i, strings.Repeat("a", 400)), 1))
	}
	alice := w.submit("alice", "a", 60)
	if r, err := w.s.Why(t.Context(), w.job(ids[len(ids)-1])); err != nil || len(r.Text) == 0 || r.Text[0] != isLate {
		t.Error(r, err)
	}
	testbed.Within(t, time.Second, 200<<20, func() { w.step(30) })
	if j := w.job(alice); j.Booking == nil {
		t.Errorf("alice waits for mallory: %s %s", j.State, j.Blocked)
	}
	isLater := func(id string) bool { return w.job(id).Blocked == isLate }
	for n := 0; n < 200 && slices.ContainsFunc(ids, isLater); n++ {
		w.step(30)
	}
	for _, id := range ids {
		if j := w.job(id); j.Blocked == isLate || j.Blocked == "" {
			t.Errorf("%s was never judged: %q", id, j.Blocked)
		}
	}
}

// Numbers beyond all bounds are refused, and not cut to small ones.
func TestNumbersOfJobs(t *testing.T) {
	f := newFront(t, nil)
	for i, text := range []string{
		"CPUNumber = 4294967297", "GPUNumber = 4294967297", "NodeNumber = 4294967297; SMPGranularity = 4294967297", "HostNumber = 4294967297; CpuNumber = 4294967297",
		"WallTime = 9223372036854775807", "WallTime = -5", "Memory = 9223372036854775807; CpuNumber = 9999", "Memory = 922337203685477580; CpuNumber = 99999",
	} {
		got := f.submit("alice", fmt.Sprint(i), `[ Executable = "/bin/true"; `+text+`; ]`)
		if got.Error == "" {
			t.Errorf("%s: taken", text)
		}
	}
	if got := fee(1e6, math.MaxInt32, math.MaxInt32); got <= 0 {
		t.Errorf("the greatest fee is %d", got)
	}
}
