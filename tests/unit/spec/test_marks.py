"""The ids in the marks: derived, stable, and one from the other."""

from secondface.spec.marks import produce_id_of_job, watermark_of, watermark_text


def test_the_watermark_is_the_beginning_of_a_produce_id() -> None:
    produce_id = "0123456789abcdef0123456789abcdef"
    assert watermark_text(watermark_of(produce_id)) == produce_id[:16]
    assert watermark_text(watermark_of("0" * 32)) == "0" * 16


def test_a_jobs_ids_are_the_same_whenever_they_are_asked_for() -> None:
    # stored nowhere: outputs in the world carry these
    assert produce_id_of_job("job-1") == "026ab639c21df8aa80e5789370a9db1b"
    assert watermark_text(watermark_of(produce_id_of_job("job-1"))) == "026ab639c21df8aa"
    assert produce_id_of_job("job-1") != produce_id_of_job("job-2")


def test_ids_of_other_forms_are_digested_and_not_cut() -> None:
    long = ["customer-order-2026-0000-1", "customer-order-2026-0000-2", "0123456789ABCDEF" * 2, ""]
    numbers = {watermark_of(each) for each in long}
    assert len(numbers) == len(long)
    assert all(0 <= number < 1 << 64 for number in numbers)
