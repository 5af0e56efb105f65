package wiki

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Manager is a cluster that a scheduler may run: what Server presents. Its
// methods are called from several goroutines at once. Errors that are
// StatusErrors go to the scheduler with their code; others as a failure of the
// back-end.
type Manager interface {
	Nodes(ctx context.Context) ([]Node, error)
	// Jobs lists waiting, running and lately ended jobs, always in the same order.
	Jobs(ctx context.Context) ([]Job, error)
	// Start starts a waiting job: one node name per task, none: anywhere.
	// Starting a job that is not waiting is an error.
	Start(ctx context.Context, id string, tasks []string) error
	Cancel(ctx context.Context, id, why string) error
	Suspend(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
}

// Server is the resource manager's side.
type Server struct {
	Manager   Manager
	Key       Key
	Auth      string        // in answers
	Separator byte          // in answers; 0: a newline
	Window    time.Duration // a command's TS may be so far off; 0: Slurm's five minutes
	Timeout   time.Duration // of one connection; 0: ten seconds
	Most      int           // connections at once; 0: 64
	Now       func() time.Time
	// Began is when the server began: commands signed before it change nothing,
	// since it cannot know whether they came before. Zero: all are taken.
	Began time.Time
	// Log is told of what was refused, without what was in it; may be nil.
	Log func(from net.Addr, err error)

	mu          sync.Mutex
	seen, older map[[sha256.Size]byte]bool // commands that change something
	turned      time.Time                  // when seen began
}

// Serve answers connections until the listener is closed or ctx is done.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	slots := make(chan struct{}, s.most())
	var silent silent
	var wait sync.WaitGroup
	defer wait.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			if temporary(err) {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			return err
		}
		silent.room(conn, slots)
		wait.Go(func() {
			defer func() { <-slots }()
			s.serve(ctx, conn, func() { silent.drop(conn) })
		})
	}
}

// temporary tells whether accepting may work again soon.
func temporary(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (s *Server) most() int {
	if s.Most > 0 {
		return s.Most
	}
	return 64
}

// silent are the connections whose message has not come yet, the oldest first:
// who connects and says nothing keeps nobody else out for long.
type silent struct {
	mu   sync.Mutex
	list []silence
}

type silence struct {
	conn net.Conn
	ends time.Time // when it makes room for another
}

// patience is how long a connection may be silent where others wait.
const patience = 500 * time.Millisecond

// room waits for a place for a connection.
func (s *silent) room(conn net.Conn, places chan<- struct{}) {
	for {
		select {
		case places <- struct{}{}:
			s.mu.Lock()
			s.list = append(s.list, silence{conn, time.Now().Add(patience)})
			s.mu.Unlock()
			return
		case <-time.After(s.end()):
		}
	}
}

// end closes the oldest connection if it has been silent for too long, and says
// when the next one will have been.
func (s *silent) end() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) > 0 && time.Until(s.list[0].ends) <= 0 {
		s.list[0].conn.SetReadDeadline(time.Now())
		s.list = s.list[1:]
	}
	if len(s.list) == 0 {
		return patience
	}
	return max(time.Until(s.list[0].ends), time.Millisecond)
}

// drop takes out a connection whose message has come.
func (s *silent) drop(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(v silence) bool { return v.conn == c })
}

// serve answers one connection; heard is called when its message has come.
func (s *Server) serve(ctx context.Context, conn net.Conn, heard func()) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	conn.SetDeadline(time.Now().Add(timeout))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := ReadFrame(conn, MaxRequest)
	heard()
	var answer []byte
	if err != nil {
		answer = s.sign(s.refuse(conn.RemoteAddr(), err))
	} else {
		answer = s.Answer(ctx, conn.RemoteAddr(), body)
	}
	conn.SetDeadline(time.Now().Add(timeout)) // who sent too little in time is told so
	if _, err := conn.Write(answer); err != nil && s.Log != nil {
		s.Log(conn.RemoteAddr(), err)
	}
}

// Answer carries out the command in a body and returns the message to send
// back.
func (s *Server) Answer(ctx context.Context, from net.Addr, body []byte) []byte {
	m, err := s.rules().Open(body)
	if err != nil {
		return s.sign(s.refuse(from, err))
	}
	req, err := ParseRequest(m.Data)
	if err == nil && !readOnly(req.Verb) {
		err = s.once(m)
	}
	if err != nil {
		return s.sign(s.refuse(from, err))
	}
	reply, err := s.carryOut(ctx, req)
	if err != nil {
		reply = s.refuse(from, err)
	}
	return s.sign(reply)
}

func readOnly(verb string) bool { return verb == GetNodes || verb == GetJobs || verb == WillRun }

func (s *Server) rules() Rules {
	window := s.Window
	if window == 0 {
		window = 5 * time.Minute
	}
	return Rules{Key: s.Key, Window: window, Now: s.Now}
}

// once refuses a command that changes something and came before: who replays
// a recorded message starts nothing. Only signed messages can be told apart.
func (s *Server) once(m Message) error {
	if !m.Signed {
		return nil
	}
	if m.Time.Unix() < s.Began.Unix() {
		return &SecurityError{CodeStale, "the message is older than this server"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Two generations, each as long as a message may be taken: TS may lie that
	// far on either side.
	if now, span := s.Now(), 2*s.rules().Window; now.Sub(s.turned) > span {
		s.older, s.seen, s.turned = s.seen, map[[sha256.Size]byte]bool{}, now
	}
	key := sha256.Sum256([]byte(m.Sum + " " + number(m.Time.Unix()) + " " + m.Data))
	if s.seen[key] || s.older[key] {
		return &SecurityError{CodeStale, "this very message came before"}
	}
	s.seen[key] = true
	return nil
}

// refuse makes the answer to what cannot be done.
func (s *Server) refuse(from net.Addr, err error) *Reply {
	if s.Log != nil {
		s.Log(from, err)
	}
	code := CodeBackEnd
	var frame *FrameError
	var security *SecurityError
	var format *FormatError
	var status *StatusError
	text := err.Error()
	switch {
	case errors.As(err, &frame):
		code, text = frame.Code, frame.Why
	case errors.As(err, &security):
		code, text = security.Code, security.Why
	case errors.As(err, &format):
		code, text = format.Code, format.Why
	case errors.As(err, &status):
		code, text = status.Code, status.Said
	}
	return &Reply{Code: code, Text: text}
}

// sign frames an answer.
func (s *Server) sign(r *Reply) []byte {
	data := r.String()
	body := []byte(data)
	if s.Key.Set() {
		body = s.Key.Sign(s.Now(), s.Auth, data)
	}
	separator := s.Separator
	if separator == 0 {
		separator = '\n'
	}
	message, err := AppendFrame(make([]byte, 0, len(body)+headerBytes), separator, body)
	if err != nil {
		return s.sign(&Reply{Code: CodeBackEnd, Text: err.Error()})
	}
	return message
}
