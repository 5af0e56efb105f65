package arcrest

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http"
	"strings"

	"gridbroker/plugins"
)

// jobItem is one job in an answer. XML is read throughout: the JSON of A-REX
// 6 turns lists of one into objects.
type jobItem struct {
	Code        int      `xml:"status-code"`
	Reason      string   `xml:"reason"`
	ID          string   `xml:"id"`
	State       string   `xml:"state"`
	Delegations []string `xml:"delegation_id"`
	Info        activity `xml:"info_document>ComputingActivity"`
}

// activity is the part of a GLUE 2.0 ComputingActivity (GFD.147 section 7) that
// is of use. Times are UTC, durations seconds, memory kB.
type activity struct {
	Name       string   `xml:"Name"`
	State      []string `xml:"State"`
	ExitCode   string   `xml:"ExitCode"`
	Error      []string `xml:"Error"`
	Node       []string `xml:"ExecutionNode"`
	Wall       string   `xml:"UsedTotalWallTime"`
	CPU        string   `xml:"UsedTotalCPUTime"`
	Memory     string   `xml:"UsedMainMemory"`
	Submitted  string   `xml:"SubmissionTime"`
	Started    string   `xml:"StartTime"`
	LRMSEnd    string   `xml:"ComputingManagerEndTime"`
	Ended      string   `xml:"EndTime"`
	Erased     string   `xml:"WorkingAreaEraseTime"`
	WaitReason []string `xml:"OtherInfo"`
}

// rest returns the state in the words of the REST interface.
func (a *activity) rest() string {
	for _, s := range a.State {
		if word, ok := strings.CutPrefix(s, "arcrest:"); ok {
			return word
		}
	}
	return ""
}

// maxIDs is how many jobs one request names: A-REX takes 1 MiB of ids, and an
// id of ARC 6 needs 80 bytes with its tags.
const maxIDs = 4000

// bulk sends jobs?action=... for all ids and returns the items by id. Ids
// without an item in the answer are missing from the map.
func (c *client) bulk(ctx context.Context, op, action, scope string, ids []string) (map[string]jobItem, error) {
	out := make(map[string]jobItem, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), maxIDs)
		ca := &call{op: op, method: http.MethodPost, path: c.jobs("?action=" + action), body: idList(ids[:n]), scope: scope,
			header: map[string]string{"Content-Type": "application/xml"}}
		if err := c.eachJob(ctx, ca, n+elementSlack, func(j *jobItem) { out[j.ID] = *j }); err != nil {
			return out, err
		}
		ids = ids[n:]
	}
	return out, nil
}

// idList is the body that names jobs.
func idList(ids []string) []byte {
	var b bytes.Buffer
	b.WriteString("<jobs>")
	for _, id := range ids {
		b.WriteString("<job><id>")
		_ = xml.EscapeText(&b, []byte(id)) // a bytes.Buffer does not fail
		b.WriteString("</id></job>")
	}
	b.WriteString("</jobs>")
	return b.Bytes()
}

// validID accepts what can be an id of A-REX: it becomes part of paths.
func validID(id string) bool {
	for _, r := range id {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			return false
		}
	}
	return id != "" && len(id) <= 200
}

// perJob turns the items of a bulk answer into one error per job. accept
// decides about items that are no success; nil refuses them all.
func perJob(c *client, op string, ids []string, items map[string]jobItem, accept func(jobItem) bool) []error {
	errs := make([]error, len(ids))
	for i, id := range ids {
		item, ok := items[id]
		switch {
		case !ok:
			errs[i] = c.fail(plugins.Unavailable, op, "the answer leaves out job "+id, nil)
		case item.Code/100 == 2 || accept != nil && accept(item):
		default:
			errs[i] = judge(c.fail(plugins.Refused, op, item.Reason, nil))
		}
	}
	return errs
}
