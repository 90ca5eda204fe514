"""Reach of each audit of a thorough run, as the table in docs/audits.md."""

from wayveil.lab.audits.distinguish import largest_shown, runs_to_show
from wayveil.lab.audits.one_run import CLAIM, accuracy_bound
from wayveil.lab.audits.plan_registry import audit_plans
from wayveil.lab.audits.run_audits import ALPHA, EFFORTS, SHARE


def reach_table() -> str:
    """One line per mechanism: what it claims, and the largest epsilon that the audits of it could have shown."""
    work = EFFORTS["full"]
    lines = [
        "| mechanism | claimed as a whole | black box can show | one run can show | claimed by all blocks "
        "| each block can show |",
        "|---|---|---|---|---|---|",
    ]
    for name, plan in sorted(audit_plans().items()):
        guesses = 2 * int(SHARE * min(work.quarters, plan.largest))
        chorus = f"{accuracy_bound(guesses, guesses, ALPHA):.2f}"
        if plan.trained:
            lines.append(f"| {name} | {float(CLAIM):g} | not played | {chorus} | not played | not played |")
            continue
        claim = float(plan.claim_as_a_whole)
        game = largest_shown(max(work.game[1], runs_to_show(claim, ALPHA)), ALPHA)
        # The chance of a false alarm is shared by all blocks; with forty of them each shows the least.
        block = largest_shown(work.block[1], ALPHA / 40)
        lines.append(
            f"| {name} | {claim:g} | {game:.2f} | {chorus if plan.town else 'not played'} | {float(plan.epsilon):g} "
            f"| {block:.2f} or more |"
        )
    return "\n".join(lines)
