package scheduler

import "context"

// mailbox is mail in memory.
type mailbox struct {
	list []message
	keys map[string]bool
}

// post implements mail.
func (b *mailbox) post(_ context.Context, k kind, key string, body any) error {
	if !b.keys[key] {
		b.keys[key] = true
		b.list = append(b.list, message{kind: k, key: key, said: body})
	}
	return nil
}

// take implements mail.
func (b *mailbox) take(_ context.Context, limit int) ([]message, error) {
	n := min(limit, len(b.list))
	list := b.list[:n:n]
	if b.list = b.list[n:]; len(b.list) == 0 {
		b.list = nil
	}
	for _, m := range list {
		delete(b.keys, m.key)
	}
	return list, nil
}

// unwritten is a log that nobody will read.
type unwritten struct{}

// write implements journal.
func (unwritten) write(context.Context, int64, []Entry) error { return nil }

// only is the reign of a leader besides whom there is nobody, over what has no older copies.
type only struct {
	mail   *mailbox
	wallet *unused
}

// fence implements reign.
func (only) fence(context.Context, int64) error { return nil }

// quiet implements reign. Where credentials are kept it is not known.
func (o only) quiet(context.Context, *memory) (bool, error) {
	return len(o.mail.list) == 0 && !o.wallet.used, nil
}

// doubtful implements reign.
func (only) doubtful(context.Context, *Job) (bool, error) { return false, nil }

// restored implements reign.
func (only) restored(context.Context) (int64, error) { return 0, nil }

// unused is a wallet into which nothing was ever put, until something is.
type unused struct {
	wallet
	used bool
}

// expiries implements wallet.
func (u *unused) expiries(ctx context.Context, only ...string) (authorities, error) {
	if u.used {
		return u.wallet.expiries(ctx, only...)
	}
	return authorities{}, nil
}

// credentials implements wallet.
func (u *unused) credentials(ctx context.Context, owners []string) (authorities, error) {
	if u.used {
		return u.wallet.credentials(ctx, owners)
	}
	return authorities{}, nil
}

// keep implements wallet.
func (u *unused) keep(ctx context.Context, seal *Seal, d delegated) error {
	u.used = true
	return u.wallet.keep(ctx, seal, d)
}

// show implements wallet.
func (u *unused) show(ctx context.Context, owner string, until int64, mark []byte) error {
	u.used = true
	return u.wallet.show(ctx, owner, until, mark)
}

// vouch implements wallet.
func (u *unused) vouch(ctx context.Context, owner string, attributes []string, until int64) error {
	u.used = true
	return u.wallet.vouch(ctx, owner, attributes, until)
}
