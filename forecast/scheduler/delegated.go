package scheduler

import (
	"cmp"
	"context"
	"strings"
	"time"

	"gridbroker/credential"
)

// A user has delegated a credential for each VO that he works for, and each job goes by that of its own: sites
// judge by the VO what it may do, and account for it by that.

// holder is whose a credential is: a user's, as a member of a VO; "": of none.
type holder struct{ owner, vo string }

func (h holder) compare(o holder) int {
	return cmp.Or(cmp.Compare(h.owner, o.owner), cmp.Compare(h.vo, o.vo))
}

// holder is by whose credential a job is sent, followed and ended.
func (j *Job) holder() holder { return holder{j.Owner, cmp.Or(j.VO, j.Named)} }

// maxVOs is of how many VOs what one user has delegated is kept.
const maxVOs = 20

// authority is until when a job may be begun, in seconds of Unix time, and why not later: until what its owner has
// delegated runs out, the token that he has shown, or the attributes that he handed the job in with.
type authority struct {
	until int64
	lack  error
	named int64 // of what was delegated: until when its VOMS attributes are good; 0: it has none
	other bool  // it is of another VO than the job

	name, body string // under which name it is encrypted, and what that is; "": not read
}

// authorityOf is that of what is kept of a user, by its size: one who shows tokens has delegated nothing.
func authorityOf(until, named int64, size int) authority {
	if size <= sealSize {
		return authority{until: until, lack: errUnshown}
	}
	return authority{until: until, lack: errExpired, named: named}
}

// begins tells that nothing but beginning a job takes the authority: with tokens and attributes nothing is done at sites.
func (a authority) begins() bool { return a.lack != errExpired }

// toBegin is the authority as jobs are begun by it.
func (a authority) toBegin() authority {
	switch {
	case a.other:
		return authority{lack: errOtherVO}
	case a.named != 0 && a.named < a.until:
		return authority{until: a.named, lack: errNameless}
	}
	return a
}

// over is why an authority is none any more; nil: it is one, or its user needs none.
func (a authority) over(now int64) error {
	if a.until > now {
		return nil
	}
	return a.lack
}

// open decrypts a credential; nil: there is none, or that of one who shows tokens.
func (a authority) open(seal *Seal, now time.Time) ([]byte, error) {
	switch {
	case len(a.body) <= sealSize:
		return nil, nil
	case a.until <= now.Unix():
		return nil, errExpired
	}
	return seal.Open(a.name, []byte(a.body))
}

// authorities are those of the users: what they have delegated or shown, and who vouches for their attributes. Who has
// delegated nothing, and shown no token that ends, is not among them.
type authorities struct {
	own     map[holder]authority
	last    map[string]authority // what each has delegated last, of whatever VO, or shown
	vouched map[string]vouched
}

// of is the authority that jobs go by. One without a VO goes by whatever its owner has delegated last when what he
// delegated without one has run out; one of a VO of which he has delegated nothing is not begun with that of
// another one, but followed, ended and brought.
func (all authorities) of(h holder, now int64) (authority, bool) {
	if len(all.own)+len(all.last) == 0 { // as in a simulation
		return authority{}, false
	}
	own, has := all.own[h]
	if has && (h.vo != "" || own.until > now) {
		return own, true
	}
	if last, there := all.last[h.owner]; there {
		last.other = last.other && h.vo != ""
		return last, true
	}
	return own, has
}

// takes has rows of the two tables told apart, delegation's first.
func (all *authorities) takes(owner, vo string, own bool, a authority) {
	if own {
		a.name = sealName(holder{owner, vo})
		all.own[holder{owner, vo}] = a
		return
	}
	a.name, a.other = lastName(owner), vo != ""
	all.last[owner] = a
}

// wallet is what users have delegated and shown, as a transaction has it.
type wallet interface {
	// expiries are the authorities of all users, or of one, but no credential; credentials those of some users, encrypted.
	expiries(ctx context.Context, only ...string) (authorities, error)
	credentials(ctx context.Context, owners []string) (authorities, error)
	// vouchers is until when attributes are good: of all users, or of one.
	vouchers(ctx context.Context, only ...string) (map[string]vouched, error)
	// keep keeps what a user delegates; show notes until when a token is good, by a mark that is no credential, vouch
	// until when attributes are: all in seconds of Unix time, and the latest time counts.
	keep(ctx context.Context, seal *Seal, d delegated) error
	show(ctx context.Context, owner string, until int64, mark []byte) error
	vouch(ctx context.Context, owner string, attributes []string, until int64) error
}

// walletTable is the wallet in tables.
type walletTable struct{ *statements }

// expiries implements wallet.
func (h walletTable) expiries(ctx context.Context, only ...string) (all authorities, err error) {
	all = authorities{own: map[holder]authority{}, last: map[string]authority{}}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var owner, vo string
		var own, size int
		var until, named int64
		err := scan(&owner, &vo, &until, &named, &size, &own)
		all.takes(owner, vo, own == 1, authorityOf(until, named, size))
		return err
	}, `select owner, vo, expires, attributes, length(body), 1 from delegation where $1 = '' or owner = $1
		union all select owner, vo, expires, attributes, length(body), 0 from credential where $1 = '' or owner = $1`, strings.Join(only, ""))
	if err == nil {
		all.vouched, err = h.vouchers(ctx, only...)
	}
	return all, err
}

// credentials implements wallet.
func (h walletTable) credentials(ctx context.Context, owners []string) (all authorities, err error) {
	all = authorities{own: map[holder]authority{}, last: map[string]authority{}}
	text, err := jsonText(owners)
	if err != nil {
		return all, err
	}
	err = h.rows(ctx, func(scan func(...any) error) error {
		var owner, vo string
		var own int
		var until, named int64
		var body []byte
		err := scan(&owner, &vo, &until, &named, &body, &own)
		a := authorityOf(until, named, len(body))
		a.body = string(body)
		all.takes(owner, vo, own == 1, a)
		return err
	}, `select owner, vo, expires, attributes, body, 1 from delegation where owner in (select t.value from {texts})
		union all select owner, case when nonce = substr(body, 1, 12) then vo else '' end, expires, attributes, body, 0 from credential where owner in (select t.value from {texts})`, text)
	return all, err
}

// lastName and sealName are what is bound to credentials, so that rows cannot be exchanged.
func lastName(owner string) string { return "credential/" + owner }
func sealName(h holder) string     { return lastName(h.owner) + "\x00" + h.vo }

// delegated is a credential as it is kept.
type delegated struct {
	owner               string
	body                []byte // not encrypted
	expires, attributes int64
	vos                 []string // "" alone: it names none
}

// KeepCredential keeps a user's delegated credential of some VOs (none: it names none), encrypted, and until when it and its VOMS
// attributes are good (zero: it has none).
func (s *Store) KeepCredential(ctx context.Context, owner string, body []byte, expires, attributes time.Time, vos ...string) error {
	d := delegated{owner, body, expires.Unix(), unix(attributes), vos}
	if len(vos) == 0 {
		d.vos = []string{""}
	}
	return s.tx(ctx, func(h handle) error { return h.wallet.keep(ctx, s.seal, d) })
}

// keep implements wallet.
func (h walletTable) keep(ctx context.Context, seal *Seal, d delegated) error {
	if _, err := adopt(ctx, h.statements, seal, d.owner); err != nil {
		return err
	}
	_, err := h.exec(ctx, `insert into credential (owner, expires, body, attributes) values ($1, $2, $3, $4)
		on conflict (owner) do update set expires = excluded.expires, body = excluded.body, attributes = excluded.attributes`,
		d.owner, d.expires, seal.Close(lastName(d.owner), d.body), d.attributes)
	if err != nil {
		return err
	}
	return keepDelegated(ctx, h.statements, seal, d)
}

// keepDelegated enters a credential that is the user's last one for each of its VOs. Of more VOs than there may be those go that end first.
func keepDelegated(ctx context.Context, h *statements, seal *Seal, d delegated) error {
	for _, vo := range d.vos {
		err := h.write(ctx, `insert into delegation (owner, vo, expires, attributes, body) values ($1, $2, $3, $4, $5)
			on conflict (owner, vo) do update set expires = excluded.expires, attributes = excluded.attributes, body = excluded.body`,
			d.owner, vo, d.expires, d.attributes, seal.Close(sealName(holder{d.owner, vo}), d.body))
		if err != nil {
			return err
		}
	}
	err := h.write(ctx, `delete from delegation where owner = $1 and vo not in (
		select vo from delegation where owner = $1 order by expires desc, vo limit $2)`, d.owner, maxVOs)
	if err != nil {
		return err
	}
	return noteVO(ctx, h, d.owner, d.vos[0])
}

// noteVO notes of which VO a user's last credential is.
func noteVO(ctx context.Context, h *statements, owner, vo string) error {
	return h.write(ctx, "update credential set vo = $2, nonce = substr(body, 1, 12) where owner = $1", owner, vo)
}

// adopt takes over what a program of the version before has kept, which does not know of VOs: of one user, or with "" of all. What
// cannot be read is of none.
func adopt(ctx context.Context, h *statements, seal *Seal, only string) (found bool, err error) {
	var list []delegated
	err = h.rows(ctx, func(scan func(...any) error) error {
		var d delegated
		err := scan(&d.owner, &d.expires, &d.attributes, &d.body)
		list = append(list, d)
		return err
	}, "select owner, expires, attributes, body from credential where ($1 = '' or owner = $1) and length(body) > $2 and nonce <> substr(body, 1, 12) {for update}", only, sealSize)
	if err != nil {
		return false, err
	}
	for _, d := range list {
		text, err := seal.Open(lastName(d.owner), d.body)
		if x, bad := credential.ParseX509("what was delegated", text); err == nil && bad == nil {
			d.body, d.vos = text, credential.NamedVOs(x)
			err = keepDelegated(ctx, h, seal, d)
		} else {
			err = noteVO(ctx, h, d.owner, "")
		}
		if err != nil {
			return false, err
		}
	}
	return len(list) > 0, nil
}
