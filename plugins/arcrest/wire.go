package arcrest

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/http"
	"slices"
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

// maxWords is how long a text of an answer is kept, as records keep no more,
// and maxTexts how many of one kind.
const (
	maxWords = 4 << 10
	maxTexts = 16
)

// clean takes our secrets out of what is said of a job, and drops what is kept of no job: one may be a megabyte.
func (j *jobItem) clean(redact func(string) string) {
	j.ID = strings.TrimSpace(j.ID)
	short := func(text string) string { return short(redact(text)) }
	a := &j.Info
	for _, text := range []*string{&j.ID, &j.Reason, &j.State, &a.Name, &a.ExitCode, &a.Wall, &a.CPU, &a.Memory,
		&a.Submitted, &a.Started, &a.LRMSEnd, &a.Ended, &a.Erased} {
		*text = short(*text)
	}
	for _, list := range []*[]string{&j.Delegations, &a.State, &a.Error, &a.Node, &a.WaitReason} {
		if len(*list) > maxTexts {
			*list = slices.Clone((*list)[:maxTexts])
		}
		for i, text := range *list {
			(*list)[i] = short(text)
		}
	}
}

// short is the beginning of a text, and keeps nothing of the rest in memory.
func short(text string) string {
	if len(text) <= maxWords {
		return text
	}
	return strings.Clone(text[:maxWords])
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
// without an item in the answer are missing from the map, and others' are not in it.
func (c *client) bulk(ctx context.Context, op, action, scope string, ids []string) (map[string]jobItem, error) {
	out := make(map[string]jobItem, len(ids))
	asked := setOf(ids)
	for len(ids) > 0 {
		n := min(len(ids), maxIDs)
		ca := &call{op: op, method: http.MethodPost, path: c.jobs("?action=" + action), body: idList(ids[:n]), scope: scope,
			header: map[string]string{"Content-Type": "application/xml"}}
		err := c.eachJob(ctx, ca, n+elementSlack, func(j *jobItem) {
			if asked[j.ID] {
				out[j.ID] = *j
			}
		})
		if err != nil {
			return out, err
		}
		ids = ids[n:]
	}
	return out, nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
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
