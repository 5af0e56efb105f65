package queuelen

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"gridbroker/batch"
	"gridbroker/plugins/ask"
)

// Answer is what a service says of one LRMS, and its JSON form.
type Answer struct {
	Schema string    `json:"schema"` // "grid.queues/v1"
	LRMS   string    `json:"lrms"`
	At     time.Time `json:"at"`
	// CEWaiting is L_a: jobs that the computing element itself still holds.
	CEWaiting int64   `json:"ce_waiting"`
	Queues    []Queue `json:"queues"`
}

// Queue is one queue: jobs that wait and that run.
type Queue struct {
	Name    string `json:"name"`
	Waiting int64  `json:"waiting"`
	Running int64  `json:"running"`
}

// Schema is the version of the JSON document; it only ever gains fields.
const Schema = "grid.queues/v1"

// maxCount is the longest queue that is believed, maxQueues how many a cluster has at most, and maxName how long the name of its
// kind is, in bytes.
const (
	maxCount  = 1_000_000_000
	maxQueues = 10_000
	maxName   = 256
)

// check tells whether there may be as many queues, of such lengths.
func (a Answer) check() error {
	if len(a.Queues) > maxQueues {
		return fmt.Errorf("it tells of more than %d queues", maxQueues)
	}
	if len(a.LRMS) > maxName {
		return fmt.Errorf("the name of its LRMS has more than %d bytes", maxName)
	}
	for _, n := range append(a.lengths(), a.CEWaiting) {
		if n < 0 || n > maxCount {
			return fmt.Errorf("queue length %d is no length", n)
		}
	}
	return nil
}

// parseJSON reads the JSON document.
func parseJSON(text []byte) (Answer, error) {
	var a Answer
	if err := ask.JSON(text, &a); err != nil {
		return a, fmt.Errorf("not a document of queue lengths: %w", err)
	}
	if !strings.HasPrefix(a.Schema, "grid.queues/") {
		return a, fmt.Errorf("not a document of queue lengths: schema %.100q", a.Schema)
	}
	return a, a.check()
}

func (a Answer) lengths() []int64 {
	lengths := make([]int64, 0, len(a.Queues)+1)
	for _, q := range a.Queues {
		lengths = append(lengths, q.Waiting)
	}
	return lengths
}

// Namespaces of the echo service and of SOAP 1.1.
const (
	echoNS = "http://www.nordugrid.org/schemas/echo"
	soapNS = "http://schemas.xmlsoap.org/soap/envelope/"
)

// echoQuestion asks the echo service.
const echoQuestion = xml.Header + `<soap:Envelope xmlns:soap="` + soapNS + `"><soap:Body>` +
	`<echo:echo xmlns:echo="` + echoNS + `"><echo:say>qlen</echo:say></echo:echo></soap:Body></soap:Envelope>`

// parseEcho reads an echoResponse: one lrmstype, and a qlen for each queue
// (the published service gives one, the sum). Where a server leaves the
// namespace of the inner elements out, they are read all the same.
func parseEcho(text []byte) (Answer, error) {
	var a Answer
	dec := xml.NewDecoder(bytes.NewReader(text))
	inside, seen := false, false
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return a, fmt.Errorf("not a SOAP answer: %w", err)
		}
		switch t := tok.(type) {
		case xml.EndElement:
			inside = inside && t.Name.Local != "echoResponse"
		case xml.StartElement:
			switch {
			case t.Name == xml.Name{Space: echoNS, Local: "echoResponse"}:
				inside, seen = true, true
			case t.Name.Local == "faultstring":
				var said string
				dec.DecodeElement(&said, &t)
				return a, fmt.Errorf("SOAP fault: %s", strings.TrimSpace(said))
			case inside:
				if err := a.element(dec, t); err != nil {
					return a, err
				}
			}
		}
	}
	if !seen || len(a.Queues) == 0 {
		return a, errors.New("no echoResponse with a qlen in the answer")
	}
	return a, a.check()
}

func (a *Answer) element(dec *xml.Decoder, t xml.StartElement) error {
	if t.Name.Local != "lrmstype" && t.Name.Local != "qlen" {
		return nil
	}
	var text string
	if err := dec.DecodeElement(&text, &t); err != nil {
		return fmt.Errorf("not a SOAP answer: %w", err)
	}
	text = strings.TrimSpace(text)
	if t.Name.Local == "lrmstype" {
		a.LRMS = text
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return fmt.Errorf("qlen %.100q is no length", text)
	}
	a.Queues = append(a.Queues, Queue{Waiting: n})
	return nil
}

// echoAnswer writes an echoResponse with the sum of all queues.
func echoAnswer(a Answer) []byte {
	sum := a.CEWaiting
	for _, q := range a.Queues {
		sum += q.Waiting
	}
	var lrms bytes.Buffer
	xml.EscapeText(&lrms, []byte(a.LRMS))
	return fmt.Appendf(nil, `%s<soap:Envelope xmlns:soap="%s"><soap:Body><echo:echoResponse xmlns:echo="%s">`+
		`<echo:lrmstype>%s</echo:lrmstype><echo:qlen>%d</echo:qlen></echo:echoResponse></soap:Body></soap:Envelope>`,
		xml.Header, soapNS, echoNS, lrms.String(), sum)
}

// FromState counts the queues of a cluster. Jobs on hold do not wait; a job
// that waits for several queues counts in each.
func FromState(s batch.State, lrms string) Answer {
	a := Answer{Schema: Schema, LRMS: lrms, At: s.Now, Queues: []Queue{}}
	at := map[string]int{}
	add := func(name string) *Queue {
		if _, ok := at[name]; !ok {
			at[name] = len(a.Queues)
			a.Queues = append(a.Queues, Queue{Name: name})
		}
		return &a.Queues[at[name]]
	}
	for _, q := range s.Queues {
		add(q.Name)
	}
	for _, j := range s.Jobs {
		for name := range strings.SplitSeq(j.Queue, ",") {
			q := add(name)
			switch {
			case !j.Started.IsZero():
				q.Running++
			case !j.Held:
				q.Waiting++
			}
		}
	}
	slices.SortFunc(a.Queues, func(x, y Queue) int { return strings.Compare(x.Name, y.Name) })
	return a
}
