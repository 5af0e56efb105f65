package scheduler

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// changeover is how long nobody may lead before who pings is told: when a leader ends another one leads within a moment.
const changeover = time.Second

// leaderless tells whether no replica comes to lead in the time of a changeover.
func leaderless(ctx context.Context, s *Scheduler) (bool, error) {
	for end := time.Now().Add(changeover); ; {
		if s.Leads() {
			return false, nil
		}
		led, err := led(ctx, s.store)
		if led || err != nil || time.Now().After(end) {
			return !led, err
		}
		if !s.pause(ctx, changeover/10) {
			return false, ctx.Err()
		}
	}
}

// led tells whether a replica has the lock by which one leads.
func led(ctx context.Context, s *Store) (has bool, err error) {
	if s.Embedded() {
		return lockedFile(leaderFile(s))
	}
	err = s.db.QueryRowContext(ctx, `select exists (select 1 from pg_locks where locktype = 'advisory' and classid = 0 and objid = $1 and granted
		and database = (select oid from pg_database where datname = current_database()))`, lockNumber).Scan(&has)
	return has, err
}

// leaderFile is the file beside an embedded database that its leader has locked.
func leaderFile(s *Store) string {
	return filepath.Clean(strings.TrimPrefix(s.dsn, "sqlite:")) + ".leader"
}

// lockedFile tells whether anybody has locked a file; one that is not there nobody has.
func lockedFile(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// fullLately is for how long it is told that the disk was full.
const fullLately = time.Minute

// noteFull remembers when the database last said that it has no room.
func noteFull(s *Store, err error) error {
	if err != nil && diskFull(err) {
		s.filled.Store(time.Now().UnixNano())
	}
	return err
}

// isFull tells whether there is no room in the database: an embedded one is tried, of another it is known when it last said so.
func isFull(s *Store) bool {
	if at := s.filled.Load(); at != 0 && time.Since(time.Unix(0, at)) < fullLately {
		return true
	}
	return diskFull(s.Room())
}
