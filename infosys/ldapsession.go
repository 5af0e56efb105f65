package infosys

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"

	"gridbroker/glue"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"
)

// ldapSession is one connection with the searches that wait for answers.
type ldapSession struct {
	conn   net.Conn
	stream berStream
	page   uint32 // 0: no paging
	lastID int64
	open   map[int64]*pending
	failed error // *LDAPError of the first search the server did not answer in full
}

// pending is a search that is not done.
type pending struct {
	base     string
	scope    int
	query    glue.Query
	optional bool
	entries  int // of the page at hand
	empty    int // pages without any
}

func newLDAPSession(conn net.Conn, page uint32) *ldapSession {
	return &ldapSession{conn: conn, page: page, open: map[int64]*pending{}, stream: berStream{
		r: &gatherer{conn: conn}, buf: make([]byte, 256<<10), maxMessage: maxLDAPMessage, messages: maxLDAPMessages, left: maxLDAPTotal}}
}

// send starts a search.
func (s *ldapSession) send(base string, scope int, q glue.Query, optional bool) error {
	return s.request(&pending{base: base, scope: scope, query: q, optional: optional}, nil)
}

// request sends a search, or its next page when there is a cookie.
func (s *ldapSession) request(p *pending, cookie []byte) error {
	filter, err := ldap.CompileFilter(p.query.Filter)
	if err != nil {
		return fmt.Errorf("filter %s: %w", p.query.Filter, err)
	}
	s.lastID++
	msg := ber.NewSequence("LDAPMessage")
	msg.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, s.lastID, "messageID"))
	msg.AppendChild(searchRequest(p, filter))
	if s.page > 0 {
		paging := ldap.NewControlPaging(s.page)
		paging.SetCookie(cookie)
		controls := ber.Encode(ber.ClassContext, ber.TypeConstructed, 0, nil, "controls")
		controls.AppendChild(paging.Encode())
		msg.AppendChild(controls)
	}
	s.open[s.lastID] = p
	_, err = s.conn.Write(msg.Bytes())
	return err
}

// searchRequest builds the protocol operation (RFC 4511 section 4.5.1).
func searchRequest(p *pending, filter *ber.Packet) *ber.Packet {
	const universal, primitive = ber.ClassUniversal, ber.TypePrimitive
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationSearchRequest, nil, "SearchRequest")
	op.AppendChild(ber.NewString(universal, primitive, ber.TagOctetString, p.base, "baseObject"))
	op.AppendChild(ber.NewInteger(universal, primitive, ber.TagEnumerated, int64(p.scope), "scope"))
	op.AppendChild(ber.NewInteger(universal, primitive, ber.TagEnumerated, int64(ldap.NeverDerefAliases), "derefAliases"))
	op.AppendChild(ber.NewInteger(universal, primitive, ber.TagInteger, int64(0), "sizeLimit"))
	op.AppendChild(ber.NewInteger(universal, primitive, ber.TagInteger, int64(0), "timeLimit"))
	op.AppendChild(ber.NewBoolean(universal, primitive, ber.TagBoolean, false, "typesOnly"))
	op.AppendChild(filter)
	attrs := ber.NewSequence("attributes")
	for _, name := range p.query.Attrs {
		attrs.AppendChild(ber.NewString(universal, primitive, ber.TagOctetString, name, "attribute"))
	}
	op.AppendChild(attrs)
	return op
}

// message reads the server's next message.
func (s *ldapSession) message() (message, error) {
	raw, err := s.stream.next()
	if err != nil {
		return message{}, s.readError(err)
	}
	return parseMessage(raw)
}

// eachEntry takes an entry that a query has found, and tells whether it is of use.
type eachEntry func(*glue.Query, *glue.Entry) (used bool, err error)

// receive reads until no search is open. Entries go to each; missing counts
// optional bases that are not there. A search that the server refuses or cuts
// is noted in s.failed: the others go on.
func (s *ldapSession) receive(each eachEntry, missing *int) error {
	var e glue.Entry
	for len(s.open) > 0 {
		m, err := s.message()
		if err != nil {
			return err
		}
		switch m.tag {
		case tagEntry:
			p := s.open[m.id]
			if p == nil {
				return fmt.Errorf("%w: entry for a search %d that was not asked", errBER, m.id)
			}
			p.entries++
			if err := parseEntry(m.body, &e); err != nil {
				return err
			}
			used, err := each(&p.query, &e)
			if err != nil {
				return err
			}
			if used {
				s.stream.giveBack(len(m.body))
			}
		case tagDone:
			if err := s.done(m, missing); err != nil {
				return err
			}
		case tagReference: // a continuation elsewhere: not followed
		default:
			return unexpected(m)
		}
	}
	return nil
}

// readError says what it means when the stream ends early. What the server
// said before comes first.
func (s *ldapSession) readError(err error) error {
	if s.failed != nil {
		return s.failed
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the server closed the connection with %d searches unanswered", len(s.open))
	}
	return err
}

// done ends a search, or asks for its next page.
func (s *ldapSession) done(m message, missing *int) error {
	p := s.open[m.id]
	if p == nil {
		return fmt.Errorf("%w: result of a search %d that was not asked", errBER, m.id)
	}
	delete(s.open, m.id)
	res, err := parseResult(m.body)
	switch {
	case err != nil:
		return err
	case res.code == ldap.LDAPResultNoSuchObject && p.optional:
		*missing++
		return nil
	case res.code == ldap.LDAPResultReferral && p.optional:
		return nil
	case res.code != ldap.LDAPResultSuccess:
		failed := &LDAPError{What: "search for " + p.query.What + " below " + p.base, Code: res.code, Message: res.message}
		if s.failed == nil {
			s.failed = failed
		}
		return nil
	}
	if cookie := pagingCookie(m.controls); len(cookie) > 0 {
		return s.nextPage(p, cookie)
	}
	return nil
}

// nextPage asks for more of what a search finds. A server that always says
// that there is more, and sends nothing, is not asked for ever.
func (s *ldapSession) nextPage(p *pending, cookie []byte) error {
	if p.entries == 0 {
		p.empty++
	}
	if p.entries = 0; p.empty > emptyPages {
		return fmt.Errorf("more than %d pages without an entry", emptyPages)
	}
	if len(cookie) > maxLDAPCookie {
		return fmt.Errorf("a cookie of %d bytes for the next page", len(cookie))
	}
	return s.request(p, bytes.Clone(cookie))
}

// pagingCookie finds the cookie of the paging control (RFC 2696) in a
// response's controls; nil when there is none or it is empty.
func pagingCookie(controls []byte) []byte {
	for len(controls) > 0 {
		control, rest, err := berWant(controls, tagSequence)
		if err != nil {
			return nil
		}
		controls = rest
		oid, control, err := berWant(control, tagOctetString)
		if err != nil || string(oid) != ldap.ControlTypePaging {
			continue
		}
		for len(control) > 0 {
			tag, value, rest, err := berTake(control)
			if err != nil {
				return nil
			}
			if control = rest; tag == tagOctetString {
				return cookieOf(value)
			}
		}
	}
	return nil
}

func cookieOf(value []byte) []byte {
	seq, _, err := berWant(value, tagSequence)
	if err != nil {
		return nil
	}
	_, seq, err = berWant(seq, tagInteger)
	if err != nil {
		return nil
	}
	cookie, _, err := berWant(seq, tagOctetString)
	if err != nil {
		return nil
	}
	return cookie
}

// unexpected explains a message that is no part of an answer.
func unexpected(m message) error {
	if m.tag == tagExtended && m.id == 0 {
		if res, err := parseResult(m.body); err == nil {
			return &LDAPError{What: "the server ended the connection", Code: res.code, Message: res.message}
		}
	}
	return fmt.Errorf("%w: unexpected operation 0x%x", errBER, m.tag)
}

// namingContexts asks for the trees the server has.
func (s *ldapSession) namingContexts() ([]string, error) {
	q := glue.Query{What: "the root DSE", Filter: "(objectClass=*)", Attrs: []string{"namingContexts"}}
	if err := s.send("", ldap.ScopeBaseObject, q, true); err != nil {
		return nil, err
	}
	var contexts []string
	err := s.receive(func(_ *glue.Query, e *glue.Entry) (bool, error) {
		for _, a := range e.Attrs {
			for _, v := range a.Values {
				contexts = append(contexts, string(v))
			}
		}
		if len(contexts) > maxLDAPTrees {
			return false, fmt.Errorf("more than %d trees", maxLDAPTrees)
		}
		return false, nil
	}, new(int))
	return contexts, cmp.Or(err, s.failed)
}

// startTLS asks the server to go on in TLS (RFC 4511 section 4.14). Nothing
// may come after its word: what is said in the clear is not to be believed.
func (s *ldapSession) startTLS() error {
	s.lastID++
	msg := ber.NewSequence("LDAPMessage")
	msg.AppendChild(ber.NewInteger(ber.ClassUniversal, ber.TypePrimitive, ber.TagInteger, s.lastID, "messageID"))
	op := ber.Encode(ber.ClassApplication, ber.TypeConstructed, ldap.ApplicationExtendedRequest, nil, "ExtendedRequest")
	op.AppendChild(ber.NewString(ber.ClassContext, ber.TypePrimitive, 0, "1.3.6.1.4.1.1466.20037", "requestName"))
	msg.AppendChild(op)
	if _, err := s.conn.Write(msg.Bytes()); err != nil {
		return err
	}
	m, err := s.message()
	if err != nil {
		return err
	}
	if m.tag != tagExtended || m.id != s.lastID {
		return unexpected(m)
	}
	res, err := parseResult(m.body)
	switch {
	case err != nil:
		return err
	case res.code != ldap.LDAPResultSuccess:
		return &LDAPError{What: "StartTLS", Code: res.code, Message: res.message}
	case s.stream.start != s.stream.end:
		return fmt.Errorf("%w: the server goes on in the clear after agreeing to StartTLS", errBER)
	}
	return nil
}
