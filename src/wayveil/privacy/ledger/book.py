"""The state that the lines add up to, and which line may come next. No storage here: lines in, answers out.

The same rules admit a new line and replay an old one, so a ledger can be judged again from its lines alone.
"""

from datetime import UTC, datetime
from shlex import quote

from wayveil.errors import BudgetExceededError, ParameterError
from wayveil.privacy.ledger.account import Account, Held
from wayveil.privacy.ledger.admission import admit_reservation
from wayveil.privacy.ledger.fingerprint import Fingerprint
from wayveil.privacy.ledger.lines import BrokenLedgerError, Head, KnownRowsError, LedgerError, Line
from wayveil.privacy.ledger.policy import Policy
from wayveil.privacy.ledger.roles import Roles


class Book:
    """Everything the first `head.count` lines say."""

    def __init__(self, genesis: str, content_key: str | None = None) -> None:
        """`content_key` is the digest of the key of fingerprints, which is kept beside the lines."""
        self.content_key = content_key
        self.head = Head(0, genesis)
        self.time = datetime.min.replace(tzinfo=UTC)
        self.accounts: dict[str, Account] = {}
        self.reservations: dict[str, Held] = {}
        self.contents: dict[str, Fingerprint] = {}
        self.roles = Roles()

    def account(self, dataset: str) -> Account:
        return self.accounts.get(dataset) or Account()

    def clock(self, now: datetime) -> datetime:
        """Accounting time: now, or the latest moment ever recorded if that is later.

        A clock set back therefore brings no budget back. A clock set forward is believed from then on: it can
        end a period early, and then holds the next one until real time has caught up; the total is untouched.
        """
        return max(self.time, now)

    def looks_at(self, dataset: str, content: str | None) -> list[Line]:
        """Every look at the raw data of a dataset: under its name, or at rows of the same people."""
        looks = [line for account in self.accounts.values() for line in account.looks]
        new = None if content is None else self.contents.get(content)

        def at_the_same(line: Line) -> bool:
            if line.dataset == dataset or new is None:
                return line.dataset == dataset
            seen = self.contents[line.payload["content"]]
            return seen.name == content or seen.likeness(new) is not None

        return [line for line in looks if at_the_same(line)]

    def held(self, reservation: str | None) -> Held:
        held = self.reservations.get(reservation or "")
        if held is None:
            raise LedgerError(f"the ledger has no reservation {reservation!r}")
        return held

    def admit(self, line: Line, *, replaying: bool = False) -> None:
        """Raise unless this line may be the next one. Changes nothing.

        Whether two datasets look alike is judged once, when the line is written: another version may judge otherwise,
        and must not call an old ledger broken for it.
        """
        if not line.actor or not line.dataset:
            raise ParameterError("a ledger line needs the name of a dataset and of the actor who writes it")
        self.roles.admit(line)
        if line.kind == "policy":
            Policy.from_payload(line.payload)
        elif line.kind == "content":
            self._admit_content(line)
        elif line.kind == "look":
            self._content_of(line)
        elif line.kind == "reserve":
            self._admit_reserve(line, replaying)
        elif line.kind != "key":
            self._admit_step(line, self.held(line.reservation))

    def _admit_reserve(self, line: Line, replaying: bool) -> None:
        if line.reservation is None or line.reservation in self.reservations:
            raise LedgerError("a reservation needs a new id")
        account = self.account(line.dataset)
        if self.roles.officer is not None and account.policy is None:
            raise LedgerError(
                f"{line.dataset} has no policy, and only the officer of this ledger can make one. Nothing was spent"
            )
        content = line.payload.get("content") if isinstance(line.payload, dict) else None
        if content is not None and content not in account.contents:
            raise LedgerError(f"the rows of this release were never booked for {line.dataset}")
        known = None if content is None else account.contents[content]
        if line.days is not None and known is not None and known.days is not None:
            known.require_days(line.days)
        admit_reservation(line, account, self.clock(line.time), replaying)

    def _admit_content(self, line: Line) -> None:
        """Rows belong to a dataset once. Whether others know them is asked before (`refuse_known`)."""
        new = self._content_of(line) or self.contents[line.payload["content"]]
        if new.name in self.account(line.dataset).contents:
            raise LedgerError(f"these rows are booked for {line.dataset} already")

    def refuse_known(self, dataset: str, new: Fingerprint) -> None:
        """Raise if these rows are of people in another dataset, with its name and the way on."""
        for name, account in self.accounts.items():
            alike = None if name == dataset else account.likeness(new)
            if alike is not None:
                raise KnownRowsError(
                    name,
                    f"this data is known as {name!r} in the ledger: {alike}. Book it there with "
                    f"`--dataset {quote(name)}`; only if these are other people, confirm that with `--new-people`",
                )

    def _content_of(self, line: Line) -> Fingerprint | None:
        """The fingerprint on a line; None where it names rows that are known from an earlier line."""
        payload = line.payload
        if not isinstance(payload, dict) or not isinstance(payload.get("content"), str):
            raise ParameterError(f"a line of kind {line.kind} says which rows it is about")
        if payload.get("key") != self.content_key:
            raise LedgerError("the key of fingerprints is not the one that earlier lines were made with")
        if "fingerprint" not in payload:
            if payload["content"] not in self.contents:
                raise ParameterError("a line is about rows that no earlier line describes")
            return None
        found = Fingerprint.from_payload(payload["fingerprint"])
        if found.name != payload["content"]:
            raise ParameterError("a line is about other rows than those of its fingerprint")
        return found

    def _admit_step(self, line: Line, held: Held) -> None:
        if line.dataset != held.line.dataset:
            raise LedgerError(f"reservation {held.id} is for {held.line.dataset}, not for {line.dataset}")
        if held.cancelled is not None:
            raise LedgerError(f"reservation {held.id} was cancelled: reserve again")
        if held.committed is not None:
            raise LedgerError(f"reservation {held.id} was committed already: its release is published")
        if held.settled is not None:
            raise LedgerError(f"reservation {held.id} was settled: its run is over and published nothing")
        if line.kind == "start" and held.started is not None:
            raise LedgerError(f"reservation {held.id} was started already: each one pays for a single run")
        if line.kind == "cancel" and held.started is not None:
            raise LedgerError(
                f"reservation {held.id} was started, so noise may have been drawn: it stays spent for ever"
            )
        if line.kind == "settle":
            self._admit_settle(line, held)
        if line.kind == "commit" and held.started is None:
            raise LedgerError(
                f"reservation {held.id} was never started: start it before the first noise is drawn"
            )

    def _admit_settle(self, line: Line, held: Held) -> None:
        """Require that a run bought more than nothing and at most what it reserved, known in epsilon."""
        if held.started is None:
            raise LedgerError(f"reservation {held.id} was never started: cancel it")
        if (held.delta or held.line.rho is not None) and line.epsilon != held.epsilon:
            raise LedgerError(f"reservation {held.id} is not in pure epsilon: it stays spent whole")
        if line.epsilon is None or not 0 < line.epsilon <= held.epsilon:
            raise LedgerError(f"reservation {held.id} settles for more than 0 and at most what it reserved")

    def apply(self, line: Line) -> None:
        """Take over a line that `admit` accepts."""
        self.time = self.clock(line.time)
        if line.kind == "key":
            self.roles.apply(line)
            self.head = line.head
            return
        account = self.accounts.setdefault(line.dataset, Account())
        if line.kind == "policy":
            account.set_policy(Policy.from_payload(line.payload))
        elif line.kind in ("content", "look"):
            content = self._content_of(line) or self.contents[line.payload["content"]]
            self.contents[content.name] = content
            if line.kind == "content":
                account.take_in(content)
            else:
                account.looks.append(line)
        elif line.kind == "reserve":
            held = Held(line, self.time, position=len(account.held))
            self.reservations[held.id] = held
            account.reserve(held)
        elif line.kind == "start":
            self.held(line.reservation).started = line
        elif line.kind == "settle":
            account.settle(self.held(line.reservation), line)
        elif line.kind == "commit":
            self.held(line.reservation).committed = line
        else:
            account.cancel(self.held(line.reservation), line)
        self.head = line.head

    def replay(self, sequence: int, text: str, stored_hash: str) -> Line:
        """Take over one stored line, or say in a sentence what is wrong with it."""
        expected = self.head.count + 1
        if sequence != expected:
            raise BrokenLedgerError(f"line {expected} is missing: line {sequence} comes next")
        try:
            line = Line.parse(text)
        except BrokenLedgerError as error:
            raise BrokenLedgerError(f"line {expected} was edited: {error}") from error
        if line.sequence != expected:
            raise BrokenLedgerError(
                f"line {expected} carries the number {line.sequence}: lines were re-ordered or edited"
            )
        if line.hash != stored_hash:
            raise BrokenLedgerError(f"line {expected} was edited: its hash does not match its text")
        if line.previous != self.head.hash:
            raise BrokenLedgerError(
                f"line {expected} does not follow line {expected - 1}: one of the two was replaced or removed"
            )
        try:
            self.admit(line, replaying=True)
        except (LedgerError, ParameterError, BudgetExceededError) as error:
            raise BrokenLedgerError(f"line {expected} should never have been written: {error}") from error
        self.apply(line)
        return line

    def confirm(self, recorded: Head) -> None:
        """Compare the end of the lines with the head record kept beside them."""
        if recorded.count > self.head.count:
            raise BrokenLedgerError(
                f"the ledger ends at line {self.head.count}, but its head record says {recorded.count}: "
                f"the last {recorded.count - self.head.count} lines were deleted"
            )
        if recorded != self.head:
            raise BrokenLedgerError(
                f"the head record (line {recorded.count}) does not match the last line ({self.head.count}): "
                "lines were added, replaced or removed behind the ledger's back"
            )
