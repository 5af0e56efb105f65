package history

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// opService is the breaker of a service that tells about resources.
const opService = "service"

// silences is how many failures in a row have a service left alone.
const silences = 2

// Services is the breakers of queue-length, forecast and monitoring services,
// shared by all processes: a service that is silent is not waited for by every
// call anew. It implements ask.Breaker.
type Services struct{ r *Registry }

// Services returns the breakers of services.
func (r *Registry) Services() *Services { return &Services{r} }

// Open returns why a service is not to be asked now. When the registry itself
// cannot be read, everything is asked.
func (s *Services) Open(service string) error {
	var b breaker
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	row := s.r.db.QueryRowContext(ctx, "SELECT failures, first, last, until, trial, reason FROM breakers WHERE resource = ? AND op = ?", service, opService)
	if err := b.scan(row.Scan); err != nil {
		return nil
	}
	if until, reason, _ := b.state(s.r.now()); !until.IsZero() {
		return fmt.Errorf("silent, left alone until %s: %s", until.Format(time.TimeOnly), reason)
	}
	return nil
}

// Done tells how asking a service went.
func (s *Services) Done(service string, asked error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.r.tx(ctx, func(tx *sql.Tx) error { // a lost count costs one more question
		b, err := loadBreaker(tx, service, opService)
		switch {
		case err != nil:
			return err
		case asked != nil:
			return saveBreaker(tx, service, opService, b.fail(s.r.now(), silences, asked.Error()))
		case b.failures == 0:
			return nil
		}
		_, err = tx.Exec("DELETE FROM breakers WHERE resource = ? AND op = ?", service, opService)
		return err
	})
}
