package voms

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// errNoHTTP says that the server does not speak HTTP.
var errNoHTTP = errors.New("the server closed the connection without an answer")

// Bounds of a server's answer: of all of it, and of its remarks, which are for people.
const (
	maxAnswer  = 1 << 20
	maxRemarks = 10
	maxWords   = 1 << 10
)

// reply is the answer of both protocols: <voms> over HTTP, <vomsans> before.
type reply struct {
	AC       string   `xml:"ac"`
	Errors   []remark `xml:"error"`
	Warnings []remark `xml:"warning"`
}

// remark is an error or warning; the older protocol has items in it.
type remark struct {
	Code    string `xml:"code"`
	Message string `xml:"message"`
	Items   []item `xml:"item"`
}

type item struct {
	Number  string `xml:"number"`
	Message string `xml:"message"`
}

// askREST asks by HTTP: GET /generate-ac.
func askREST(conn net.Conn, s Server, req Request) (*Answer, error) {
	q := url.Values{}
	if req.Lifetime > 0 {
		q.Set("lifetime", strconv.Itoa(int(req.Lifetime.Seconds())))
	}
	// The server splits at commas and takes no escapes in FQANs.
	query := q.Encode() + "&fqans=" + strings.Join(req.FQANs, ",")
	if len(req.Targets) > 0 {
		query += "&targets=" + strings.Join(req.Targets, ",")
	}
	query = strings.TrimPrefix(query, "&")
	for _, c := range query {
		if c <= ' ' || c > '~' {
			return nil, fmt.Errorf("FQAN or target with character %q", c)
		}
	}
	if _, err := fmt.Fprintf(conn, "GET /generate-ac?%s HTTP/1.0\r\nHost: %s\r\nAccept: */*\r\nUser-Agent: grid\r\n\r\n", query, s); err != nil {
		return nil, err
	}
	r := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	if _, err := r.Peek(1); err != nil {
		return nil, silence(err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return nil, errNoHTTP
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil && len(body) == 0 {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, errNoHTTP
	}
	answer, err := parseReply(body, resp.Status)
	if e, ok := errors.AsType[*ServerError](err); ok && e.Code == "" && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		// The front of an IAM refuses strangers before VOMS sees them, in words of its own.
		return nil, &ServerError{Code: strconv.Itoa(resp.StatusCode), Said: "it answers " + resp.Status + ": your certificate is not registered there, or not linked to your account", Err: e.Err}
	}
	return answer, err
}

// silence tells a server that hangs up on HTTP from one that refuses the
// handshake late (TLS 1.3 reports a refused certificate at the first read).
func silence(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return errNoHTTP
	}
	return err
}

// askLegacy asks in the protocol of VOMS 1: one XML document each way.
func askLegacy(conn net.Conn, _ Server, req Request) (*Answer, error) {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding = "US-ASCII"?><voms>`)
	for _, f := range req.FQANs {
		writeElement(&b, "command", command(f))
	}
	order := make([]string, len(req.FQANs))
	for i, f := range req.FQANs {
		order[i] = command(f)[1:] // without the letter
	}
	writeElement(&b, "order", strings.Join(order, ","))
	if len(req.Targets) > 0 {
		writeElement(&b, "targets", strings.Join(req.Targets, ","))
	}
	lifetime := -1
	if req.Lifetime > 0 {
		lifetime = int(req.Lifetime.Seconds())
	}
	writeElement(&b, "lifetime", strconv.Itoa(lifetime))
	b.WriteString("<base64>1</base64><version>4</version></voms>")
	if _, err := conn.Write(b.Bytes()); err != nil {
		return nil, err
	}
	body, err := readDocument(conn)
	if err != nil {
		return nil, err
	}
	return parseReply(body, "no attributes in the answer")
}

// readDocument reads to the end of the answer; the server may keep the
// connection open, or close it without TLS's farewell.
func readDocument(r io.Reader) ([]byte, error) {
	var body []byte
	buf := make([]byte, 16<<10)
	for len(body) < maxAnswer {
		n, err := r.Read(buf)
		body = append(body, buf[:n]...)
		if bytes.Contains(body, []byte("</vomsans>")) {
			return body, nil
		}
		if err != nil {
			if len(body) > 0 {
				return body, nil
			}
			if errors.Is(err, io.EOF) {
				return nil, errors.New("the server closed the connection without an answer")
			}
			return nil, err
		}
	}
	return nil, errors.New("the answer is too long")
}

func writeElement(b *bytes.Buffer, name, text string) {
	b.WriteString("<" + name + ">")
	_ = xml.EscapeText(b, []byte(text)) // a bytes.Buffer never fails
	b.WriteString("</" + name + ">")
}

// command writes an FQAN in the older protocol: G for a group, B for a group
// and role, R for a role anywhere.
func command(fqan string) string {
	group, role := splitFQAN(fqan)
	switch {
	case role == "":
		return "G" + group
	case group == "":
		return "R" + role
	}
	return "B" + group + ":" + role
}

func splitFQAN(fqan string) (group, role string) {
	group, role, _ = strings.Cut(shortFQAN(fqan), "/Role=")
	return group, role
}

// parseReply reads the attributes or the server's complaint.
func parseReply(body []byte, status string) (*Answer, error) {
	var rep reply
	dec := xml.NewDecoder(bytes.NewReader(body))
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // US-ASCII
	if err := dec.Decode(&rep); err != nil {
		return nil, &ServerError{Said: fmt.Sprintf("it answers %s, and something that is not understood", status), Err: err}
	}
	notes := remarks(rep)
	ac, err := decodeAC(rep.AC)
	if err != nil {
		// A refusal may carry a stump of an attribute certificate all the same.
		if len(notes) > 0 {
			return nil, &ServerError{Code: notes[0].Code, Said: notes[0].Message}
		}
		return nil, &ServerError{Said: "it answers " + status + ": " + err.Error(), Err: err}
	}
	a := &Answer{AC: ac}
	for _, n := range notes {
		a.Warnings = append(a.Warnings, n.Message)
	}
	return a, nil
}

// decodeAC reads base64.
func decodeAC(text string) (*AC, error) {
	der, err := base64.StdEncoding.DecodeString(strings.Map(noSpace, text))
	if err != nil {
		return nil, fmt.Errorf("the attributes are not base64: %w", err)
	}
	return Parse(der)
}

// remarks are the first of what the server remarks, each cut.
func remarks(rep reply) (all []remark) {
	add := func(code, message string) {
		if len(all) < maxRemarks {
			all = append(all, remark{Code: cut(code), Message: cut(message)})
		}
	}
	for _, r := range append(rep.Errors, rep.Warnings...) {
		if r.Message != "" || r.Code != "" {
			add(r.Code, r.Message)
		}
		for _, it := range r.Items {
			add(it.Number, strings.TrimSpace(it.Message))
		}
	}
	return all
}

func cut(words string) string { return words[:min(len(words), maxWords)] }

func noSpace(r rune) rune {
	if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
		return -1
	}
	return r
}
