"""Stores in Amazon S3. Found by ``tracemill_analysis.store.open_store`` for ``s3://`` addresses."""
