"""Report: findings, report and manifest of the job."""
